"""Screens: the start, a session, and what is asked or told on top of them."""
