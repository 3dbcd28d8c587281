-- layer: tokens
-- trick: a partial definition that inhabits anything
partial def proof : Candidate.Claim := proof
