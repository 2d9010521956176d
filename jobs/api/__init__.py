"""The HTTP API of the core: a view decodes a request, calls one service and encodes the answer.

`base.py` has the steps of every request; `*_codec.py` and `schemas/` have the JSON on the wire.
"""
