"""The standalone server: the composition root, the only app that imports all other apps."""
