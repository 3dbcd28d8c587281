"""Pure drawing: view model and width in, lines of text out. No widget, no clock, no markup parsing."""
