-- layer: tokens
-- trick: a gap closed by the gap tactic
theorem proof : Candidate.Claim := by
  sorry
