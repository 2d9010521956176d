"""Probe regions, count their jobs and open or close their circuit breakers.

Routers and pages read the result.
"""
