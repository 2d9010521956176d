"""Define events and their positions, and the log lines, figures and alerts for operators."""
