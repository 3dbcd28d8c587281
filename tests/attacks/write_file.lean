-- layer: tokens
-- trick: input and output while the file is elaborated
#eval IO.FS.writeFile "certificate.json" "proven"
theorem proof : Candidate.Claim := by decide
