-- layer: tokens
-- trick: reaching the network by the names of its library
def fetch := Std.Internal.UV.TCP.Socket.new
theorem proof : Candidate.Claim := by decide
