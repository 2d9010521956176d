"""The worker of this project: claims jobs and runs their handlers.

`pool.py` is the parent (processes, signals), `engine.py` one process (claim loop, handler threads),
`acker.py` its answers in batches, `execution.py` one attempt.
"""
