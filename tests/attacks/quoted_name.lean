-- layer: tokens
-- trick: a gap spelled as a quoted name
theorem proof : Candidate.Statement := «sorryAx» _ false
