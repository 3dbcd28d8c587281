-- layer: tokens
-- trick: a gap closed by the gap tactic
theorem proof : Candidate.Statement := by
  sorry
