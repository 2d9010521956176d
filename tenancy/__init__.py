"""Tenants: isolation, limits and fair shares. The core keeps their lanes."""
