"""Webhooks: events sent to the subscribers' own servers, signed, again until they arrive."""
