"""The rules of the core in plain Python, without Django, database and clock.

A module has one subject, such as the envelope, retries, or the grammar of names.
"""
