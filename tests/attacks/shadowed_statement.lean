-- layer: statement
-- trick: a definition of the statement's name nearer by
def Candidate.Statement : Prop := True
theorem proof : Candidate.Statement := trivial
