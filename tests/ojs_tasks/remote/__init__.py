"""Remote mode: the Python API over HTTP, and its worker."""
