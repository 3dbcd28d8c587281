-- layer: tokens
-- trick: starting a process by name
def run := IO.Process.output
theorem proof : Candidate.Claim := by decide
