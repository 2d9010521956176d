"""Authenticate requests by key or session, and limit their rate."""
