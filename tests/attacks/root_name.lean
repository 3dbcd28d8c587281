-- layer: tokens
-- trick: a name that escapes the namespace
def _root_.Candidate.Statement : Prop := True
theorem proof : Candidate.Statement := trivial
