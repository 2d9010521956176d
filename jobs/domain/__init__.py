"""The rules of the core in plain Python, without Django, database and clock.

Packages have the names of the packages of `jobs/services`; `wire` has the values on the wire.
"""
