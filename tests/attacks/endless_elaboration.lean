-- layer: resources
-- trick: a tactic that never ends
theorem proof : Candidate.Claim := by
  repeat (have endless : 1 = 1 := rfl)
  omega
