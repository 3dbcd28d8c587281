-- layer: statement
-- trick: a proof about the submitter's own model of the machine
def Correct (n : Nat) : Prop := n = n
theorem proof : ∀ n, Correct n := fun _ => rfl
