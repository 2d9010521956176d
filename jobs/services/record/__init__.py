"""Keep the record of events: emit, read and aggregate them into counts.

Rates, run history and dispatch counts are read from these counts.
"""
