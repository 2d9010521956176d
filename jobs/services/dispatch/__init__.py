"""Hand out jobs to workers: the FETCH operation and its explanation.

`fetch.py` plans one claim; `ojs_claim` in the database executes it.
"""
