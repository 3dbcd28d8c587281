-- layer: resources
-- trick: a tactic that never ends
theorem proof : Candidate.Statement := by
  repeat (have endless : 1 = 1 := rfl)
  omega
