"""The core: envelope, lifecycle, delivery."""
