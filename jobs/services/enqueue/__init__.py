"""Store jobs: the PUSH operation with uniqueness, backpressure and idempotency.

`enqueue.py` is the entry, `store.py` admits the drafts, and `insert.py` writes their rows.
"""
