"""Functions of a project's tasks."""

from typing import Any


def add(left: int, right: int = 2) -> int:
    """Return the sum."""
    return left + right


def clean() -> None:
    """Do nothing."""


class Broken(Exception):
    """An error of the project."""


class Owner:
    """Its method is the function of a bound task."""

    def bound(self) -> Any:
        """Do nothing."""
