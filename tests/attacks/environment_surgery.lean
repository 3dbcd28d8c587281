-- layer: tokens
-- trick: a metaprogram that adds a constant without a check
run_elab do
  let d := mkAxiom
  addDecl d
theorem proof : Candidate.Claim := cheat
