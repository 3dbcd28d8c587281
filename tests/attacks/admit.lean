-- layer: tokens
-- trick: another name of the gap tactic
theorem proof : Candidate.Statement := by
  admit
