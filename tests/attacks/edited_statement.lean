-- layer: statement
-- trick: a proof of another statement
theorem proof : True := trivial
