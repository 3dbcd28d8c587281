-- layer: statement
-- trick: an empty list of layouts under the name of the statement's own
def layouts : List Layout := []
theorem proof : ∀ (R : Type) [ExactReal R],
    CorrectIn R layouts [Candidate.launch] Candidate.inputs Candidate.outputs [] := by
  intro R inst l h
  cases h
