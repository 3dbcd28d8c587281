-- layer: tokens
-- trick: a gap spelled as a quoted name
theorem proof : Candidate.Claim := «sorryAx» _ false
