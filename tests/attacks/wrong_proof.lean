-- layer: elaboration
-- trick: tactics that do not close the goal
theorem proof : Candidate.Claim := by
  intro
  omega
