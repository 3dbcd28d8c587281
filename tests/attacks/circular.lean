-- layer: elaboration
-- trick: a proof that calls itself
theorem proof : Candidate.Statement := proof
