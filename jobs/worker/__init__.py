"""The worker of this project: claims jobs and runs their handlers.

`pool.py` is the parent (processes, signals), `engine.py` one process. Its main thread claims
(`claimer.py`) for the threads that run handlers (`slots.py`); `in_flight.py` holds the jobs between
both. `execution.py` runs one attempt, `acker.py` answers in batches, `timeouts.py` stops late
attempts, `heartbeats.py` reports the process, `returns.py` gives jobs back. `directives.py` and
`waits.py` connect these threads.
"""
