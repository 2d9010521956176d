"""The core: envelope, lifecycle, delivery."""

VERSION = "0.1.0"
