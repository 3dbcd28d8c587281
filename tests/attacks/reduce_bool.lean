-- layer: tokens
-- trick: the axiom of compiled evaluation, by name
def t : Bool := true
theorem proof : Candidate.Claim := absurd (Lean.ofReduceBool t true rfl) (by omega)
