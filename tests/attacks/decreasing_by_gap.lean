-- layer: tokens
-- trick: a gap inside a termination proof
def proof (n : Nat) : Candidate.Claim := proof (n + 1)
termination_by n
decreasing_by sorry
