-- layer: tokens
-- trick: importing a module of the submitter
import Poisoned
theorem proof : Candidate.Claim := Poisoned.proof
