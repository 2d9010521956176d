"""Processes killed and databases stopped under load: what was acknowledged holds."""
