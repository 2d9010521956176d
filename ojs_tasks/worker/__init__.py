"""The parts of a worker that need no server: it gets them from there, or over HTTP.

`pool.py` is the parent (processes, signals), `engine.py` one process. Its main thread claims for
the slots that run handlers (`slots.py`); `in_flight.py` holds the jobs between both. `chain.py` is
the middleware of an attempt, `execution.py` runs it, in a thread or on the event loop
(`event_loop.py`). `acker.py` answers in batches, `timeouts.py` stops late attempts. `directives.py`
and `waits.py` connect these threads. `ports.py` has what a server provides.
"""
