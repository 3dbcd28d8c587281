-- layer: statement
-- trick: a definition of the statement's name nearer by
def Candidate.Claim : Prop := True
theorem proof : Candidate.Claim := trivial
