-- layer: tokens
-- trick: an opaque constant standing for a proof
opaque cheat : Candidate.Claim
theorem proof : Candidate.Claim := cheat
