"""Upgrades: databases of earlier releases, and processes of the last release beside new ones."""
