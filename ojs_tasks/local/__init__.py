"""The server of a process that has its apps and its database."""
