-- layer: statement
-- trick: one more premise than the statement has
theorem proof (h : Candidate.Claim) : Candidate.Claim := h
