"""A server at a distance, over HTTP: for producers, and for the worker of `runworker --server`.

`exchange.py` decides about retries, `operations.py` has what producers do, as generators of calls.
`client.py` makes the calls, in threads or on an event loop. `server.py` connects them.
"""
