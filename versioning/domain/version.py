"""Versions and their ranges, from the core: producers and handlers name them."""

from jobs.domain.wire.ranges import ANY, Range, parse_range
from jobs.domain.wire.version import Version, parse_version, split_type

__all__ = ["ANY", "Range", "Version", "parse_range", "parse_version", "split_type"]
