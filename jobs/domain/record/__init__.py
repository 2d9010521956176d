"""Define events and their positions, and the log lines and figures for operators."""
