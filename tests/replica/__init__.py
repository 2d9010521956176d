"""Reads from a hot standby."""
