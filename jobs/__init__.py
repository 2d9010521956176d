"""The core: envelope, lifecycle, delivery."""

VERSION = "0.3.0"
SERVES = "0.2.0"  # the oldest release whose processes may run on a database of this one
