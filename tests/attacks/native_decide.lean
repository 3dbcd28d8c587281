-- layer: tokens
-- trick: compiled evaluation instead of the kernel
theorem lemma1 : 2 + 2 = 5 := by native_decide
theorem proof : Candidate.Claim := absurd lemma1 (by omega)
