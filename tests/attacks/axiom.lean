-- layer: tokens
-- trick: a new axiom
axiom cheat : Candidate.Statement
theorem proof : Candidate.Statement := cheat
