-- layer: tokens
-- trick: an unclosed comment that swallows what follows
theorem proof : True := trivial
/- Candidate.Claim
