-- layer: tokens
-- trick: the axiom behind a gap, by name
theorem proof : Candidate.Claim := sorryAx _ false
