-- layer: tokens
-- trick: an option that skips the type checker
set_option debug.skipKernelTC true in
theorem proof : Candidate.Claim := by decide
