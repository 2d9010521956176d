"""Databases of earlier releases, and processes of the last one beside this one's."""
