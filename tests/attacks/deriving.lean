-- layer: tokens
-- trick: instances made by a derive handler
structure Cheat where
  proof : Candidate.Claim
deriving Inhabited
theorem proof : Candidate.Claim := default
