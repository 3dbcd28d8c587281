"""Compile, validate and profile candidates on a device, and not be fooled."""
