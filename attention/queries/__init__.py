"""Typed functions for the statements of `sql/`: the only package of this app with a cursor."""
