"""The database engine of the standalone server."""
