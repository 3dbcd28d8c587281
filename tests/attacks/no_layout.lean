-- layer: statement
-- trick: a claim about no layout of the buffers at all
theorem proof : ∀ (R : Type) [ExactReal R],
    CorrectIn R [] [Candidate.launch] Candidate.inputs Candidate.outputs [] := by
  intro R inst l h
  cases h
