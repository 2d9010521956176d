"""A Django app with one extension: the complete example of docs/extensions.md."""
