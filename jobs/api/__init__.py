"""The HTTP API of the core: a view decodes a request, calls one service and encodes the answer.

`base.py` has the steps of every request; packages group the endpoints by subject.
"""
