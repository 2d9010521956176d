"""Regions: routing, health and failover."""
