-- layer: tokens
-- trick: a gap after a comment that only seems to go on
/- outer /- inner -/ still a comment -/
theorem proof : Candidate.Claim := by /- -/ sorry /- -/
