-- layer: tokens
-- trick: starting a process by name
def run := IO.Process.output
theorem proof : Candidate.Statement := by decide
