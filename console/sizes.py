"""Sizes in bytes as texts of pages."""

from django.template import defaultfilters


def filesizeformat(size: float) -> str:
    """Show a number of bytes as Django does, without the decimal of a whole number."""
    shown: str = defaultfilters.filesizeformat(size)
    return shown.replace(".0\N{NO-BREAK SPACE}", "\N{NO-BREAK SPACE}")
