"""Widgets. They draw from the view model and post messages; the session screen owns the state."""
