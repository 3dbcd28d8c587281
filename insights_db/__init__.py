"""The SQLite store: sessions, events, candidates, measurements, insights, proofs, certificates."""
