"""Define callers, API keys and permits, and what a caller may see."""
