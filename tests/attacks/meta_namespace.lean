-- layer: tokens
-- trick: reaching the metaprogramming library by name
theorem proof : Candidate.Statement := Lean.Elab.Tactic.admitGoal
