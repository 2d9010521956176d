"""The HTTP server: a worker class for gunicorn that reads requests before a thread takes them."""
