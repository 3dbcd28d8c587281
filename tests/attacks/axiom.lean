-- layer: tokens
-- trick: a new axiom
axiom cheat : Candidate.Claim
theorem proof : Candidate.Claim := cheat
