"""Move the jobs of a tenant between two cells: servers with a PostgreSQL of their own each.

See docs/adr/0047-cells.md.
"""
