"""The files in deploy/ name what exists, and their own tools accept them."""
