"""Versions and their ranges, from the core: producers and handlers name them."""

from jobs.domain.ranges import ANY, Range, parse_range
from jobs.domain.version import Version, parse_version, split_type

__all__ = ["ANY", "Range", "Version", "parse_range", "parse_version", "split_type"]
