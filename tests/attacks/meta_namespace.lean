-- layer: tokens
-- trick: reaching the metaprogramming library by name
theorem proof : Candidate.Claim := Lean.Elab.Tactic.admitGoal
