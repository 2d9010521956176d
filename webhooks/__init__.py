"""Webhooks: signed events for the subscribers' own servers, sent again until they arrive."""
