"""A project with a schedule in code."""
