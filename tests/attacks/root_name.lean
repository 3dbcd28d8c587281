-- layer: tokens
-- trick: a name that escapes the namespace
def _root_.Candidate.Claim : Prop := True
theorem proof : Candidate.Claim := trivial
