"""Drills of the production kit: failover, restore and upgrade, each under load."""
