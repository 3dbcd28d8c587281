-- layer: tokens
-- trick: a tactic that abandons the proof and leaves a gap
theorem proof : Candidate.Claim := by
  stop
  omega
