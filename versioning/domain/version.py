"""Versions and their ranges, from the core: producers and handlers name them."""

from ojs_tasks.ranges import ANY, Range, parse_range
from ojs_tasks.versions import Version, parse_version, split_type

__all__ = ["ANY", "Range", "Version", "parse_range", "parse_version", "split_type"]
