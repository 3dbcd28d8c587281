-- layer: tokens
-- trick: another name of the gap tactic
theorem proof : Candidate.Claim := by
  admit
