-- layer: statement
-- trick: no theorem of the agreed name
theorem other : True := trivial
