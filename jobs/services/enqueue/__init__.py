"""Store jobs: the PUSH operation with uniqueness, backpressure and idempotency.

`enqueue.py` is the entry; the other modules are its steps.
"""
