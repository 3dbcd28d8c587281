"""The terminal app. It consumes the event stream and a control object; it knows nothing of the engine."""
