-- layer: tokens
-- trick: compiled evaluation through an option of a tactic
theorem lemma1 : 2 + 2 = 5 := by decide +native
theorem proof : Candidate.Claim := absurd lemma1 (by omega)
