-- layer: tokens
-- trick: instances made by a derive handler
structure Cheat where
  proof : Candidate.Statement
deriving Inhabited
theorem proof : Candidate.Statement := default
