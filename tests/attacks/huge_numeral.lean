-- layer: resources
-- trick: evaluation that takes all memory
theorem slow : 2 ^ (2 ^ 40) % 3 = 1 := by decide
theorem proof : Candidate.Claim := absurd slow (by omega)
