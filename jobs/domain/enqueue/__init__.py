"""Define jobs that are valid and not stored yet: their members, uniqueness and stored form."""
