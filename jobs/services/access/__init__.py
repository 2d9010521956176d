"""Check API keys, staff accounts and login attempts.

The permission table itself is in the `permits.py` of each app.
"""
