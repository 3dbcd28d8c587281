-- layer: elaboration
-- trick: claiming that the statement is trivial
theorem proof : Candidate.Claim := trivial
