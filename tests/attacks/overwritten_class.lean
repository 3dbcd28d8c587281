-- layer: tokens
-- trick: a class of the same name with other laws
class ExactReal (R : Type) where
  collapse : ∀ a b : R, a = b
theorem proof : Candidate.Claim := by simp
