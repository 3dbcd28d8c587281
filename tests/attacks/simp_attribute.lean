-- layer: tokens
-- trick: registering a false rewriting rule
attribute [simp] Nat.add_comm
theorem proof : Candidate.Claim := by simp
