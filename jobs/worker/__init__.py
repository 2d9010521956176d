"""The worker of this project: claims jobs and runs their handlers.

`pool.py` is the parent (processes, signals), `engine.py` one process. Its main thread claims
(`claimer.py`) for the slots that run handlers, in threads (`slots.py`) or on the event loop
(`event_loop.py`); `in_flight.py` holds the jobs between both. `execution.py` runs one attempt with
the steps of `chain.py`, `acker.py` answers in batches, `timeouts.py` stops late attempts,
`heartbeats.py` reports the process, `returns.py` gives jobs back. `directives.py` and `waits.py`
connect these threads.
"""
