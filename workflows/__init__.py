"""Chains, groups and batches of jobs."""
