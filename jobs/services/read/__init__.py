"""Show and find jobs, and read the database's clock.

This room changes no row.
"""
