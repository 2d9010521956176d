"""Operate queues and bulk selections of jobs: pause, move, reprioritize, cancel, purge.

Each operation is bounded, audited and repeatable.
"""
