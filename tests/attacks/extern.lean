-- layer: tokens
-- trick: foreign code behind a definition
@[extern "cheat"] def cheat : Bool := true
theorem proof : Candidate.Claim := by decide
