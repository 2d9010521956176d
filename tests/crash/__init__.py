"""Crashes under load: acknowledged enqueues and results survive killed processes and databases."""
