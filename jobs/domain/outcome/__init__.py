"""Decide when a job runs again, which verbs its state accepts, and how long it stays."""
