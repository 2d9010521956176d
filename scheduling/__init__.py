"""Pools, queue strategies, starvation prevention and cron."""
