"""Show and find jobs, and read the database's clock.

Nothing here changes a row.
"""
