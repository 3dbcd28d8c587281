-- layer: tokens
-- trick: an opaque constant standing for a proof
opaque cheat : Candidate.Statement
theorem proof : Candidate.Statement := cheat
