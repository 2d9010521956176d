"""A server under load that is hurt again and again: what it promised, and what was seen."""
