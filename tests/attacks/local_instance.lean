-- layer: tokens
-- trick: an instance that makes every scalar equal
instance (R : Type) [ExactReal R] : Subsingleton R := cheat
theorem proof : Candidate.Claim := by simp
