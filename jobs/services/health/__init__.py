"""Judge the health of this server and expose it: checks and metrics.

This room changes no row.
"""
