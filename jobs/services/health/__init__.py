"""Judge the health of this server and expose it: checks, alerts and metrics.

Nothing here changes a row.
"""
