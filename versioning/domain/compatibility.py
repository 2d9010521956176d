"""Judge the differences of two documents: compatibility, and the version that they require.

Spec: job-versioning 7, contract 30.5.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """The wording of job-versioning 7.1 and 7.2."""

    OPTIONAL_ADDED = "adding an optional field"
    WIDENED = "widening a value constraint"
    ENUM_ADDED = "adding a new enum value"
    ELEMENT_ADDED = "adding a new element at the end"
    REMOVED = "removing or renaming a field"
    TYPE_CHANGED = "changing a field's type"
    MADE_REQUIRED = "making an optional field required"
    NARROWED = "narrowing a value constraint"


class Compatibility(StrEnum):
    """The changes that count as breaking.

    Backward: old arguments must still fit, and no field be removed (job-versioning 7.2). Forward:
    new arguments must fit the version before. Full: both.
    """

    NONE = "none"
    BACKWARD = "backward"
    FORWARD = "forward"
    FULL = "full"


class OnBreaking(StrEnum):
    """The treatment of a document with breaking changes."""

    WARN = "warn"
    ENFORCE = "enforce"
    OFF = "off"


class Bump(StrEnum):
    """The part of the version that must rise."""

    MAJOR = "major"
    MINOR = "minor"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: its place in the arguments, kind and rule, and the directions it breaks."""

    path: str  # a JSON Pointer; `*` is any element or member
    kind: str
    message: str
    rule: Rule
    backward: bool = False  # the new version refuses old arguments, or lacks a field
    forward: bool = False  # the version before refuses new arguments

    def breaks(self, mode: Compatibility) -> bool:
        """Return whether it breaks the compatibility of `mode`."""
        return {
            Compatibility.NONE: False,
            Compatibility.BACKWARD: self.backward,
            Compatibility.FORWARD: self.forward,
            Compatibility.FULL: self.backward or self.forward,
        }[mode]


def demanded(found: Sequence[Change], mode: Compatibility) -> Bump:
    """Return the part of the version that must rise for these changes."""
    if not found:
        return Bump.NONE
    return Bump.MAJOR if any(one.breaks(mode) for one in found) else Bump.MINOR
