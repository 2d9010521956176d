"""Judge the health of this server and expose it: checks, alerts and metrics.

This room changes no row.
"""
