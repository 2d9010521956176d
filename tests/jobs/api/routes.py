"""All routes of the API, read from the URL configuration."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from jobs.api.base import OJSView


def views(
    patterns: Iterable[Any] | None = None, prefix: str = ""
) -> Iterator[tuple[str, type[OJSView]]]:
    """Return the API's paths, with parameters in braces, and their views."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern.url_patterns, prefix + _spelled(str(pattern.pattern)))
        elif isinstance(pattern, URLPattern):
            view = getattr(pattern.callback, "cls", None)
            if view is not None and issubclass(view, OJSView):
                yield prefix + _spelled(str(pattern.pattern)), view


def _spelled(pattern: str) -> str:
    text = re.sub(r"[(][?]P<(\w+)>[^)]*[)]", r"{\1}", pattern)
    return re.sub(r"<\w+:(\w+)>", r"{\1}", text).strip("^$")
