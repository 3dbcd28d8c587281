-- layer: statement
-- trick: one more premise than the statement has
theorem proof (h : Candidate.Statement) : Candidate.Statement := h
