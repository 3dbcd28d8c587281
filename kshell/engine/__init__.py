"""The session engine: an async generator of typed events, and the fold that rebuilds a session from them."""
