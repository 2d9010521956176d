"""Views of the console: one module per page."""
