"""The standalone server: the composition root, the only place that knows every app."""
