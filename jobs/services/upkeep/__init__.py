"""Repair drift, refresh statistics, and reset or copy tables.

The background loops call this room; `jobs/loops.py` lists them.
"""
