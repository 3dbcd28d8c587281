-- layer: tokens
-- trick: an attribute that changes what is run
def no : Bool := true
@[implemented_by no] def yes : Bool := false
theorem proof : Candidate.Claim := by decide
