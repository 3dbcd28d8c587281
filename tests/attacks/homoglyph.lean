-- layer: elaboration
-- trick: a word that only looks like the gap tactic
theorem proof : Candidate.Claim := by
  ѕorry
