"""Serve the record of events, as lists and as streams."""
