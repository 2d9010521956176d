"""Store the regions and the federation's configuration, and call other regions.

All requests to regions go through `outbound.py`.
"""
