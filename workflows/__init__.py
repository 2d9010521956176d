"""Chains, groups, batches and step graphs of jobs."""
