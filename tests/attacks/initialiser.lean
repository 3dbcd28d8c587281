-- layer: tokens
-- trick: code that runs when the module is loaded
initialize cheat : IO.Ref Nat ← IO.mkRef 0
theorem proof : Candidate.Claim := by decide
