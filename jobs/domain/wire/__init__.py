"""Read and write values on the wire: JSON, ids, times, durations, names and versions.

`bounds.py` is the table of their bounds.
"""
