"""Hand out jobs to workers: the FETCH operation and its explanation.

`fetch.py` plans one claim; `ojs_claim_jobs` in the database executes it.
"""
