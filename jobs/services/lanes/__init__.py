"""Maintain lanes: the configuration, limits and hints that decide which job a claim takes.

The claim itself is in `dispatch`.
"""
