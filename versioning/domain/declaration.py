"""Declarations of workers: the versions that they handle. Spec: job-versioning 8; contract 22.3."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import orjson

from jobs.domain.dispatch.claim import Declaration
from jobs.domain.errors import Unprocessable
from jobs.domain.wire import jsonio
from jobs.domain.wire.bounds import MAX_HANDLERS, MAX_TYPE
from jobs.domain.wire.names import TYPE_PATTERN
from versioning.domain.errors import InvalidVersionRange
from versioning.domain.version import Range, Version, parse_range

MEMBERS: Final = frozenset({"type", "versions", "accept_unversioned"})
UNVERSIONED: Final = 0  # the version key of jobs without a version


@dataclass(frozen=True, slots=True)
class Handles:
    """The types and versions that a worker accepts.

    It accepts unnamed types unless `is_exclusive`. It refuses unversioned jobs of the types in
    `versioned_only`.
    """

    ranges: Mapping[str, tuple[Range, ...]] = field(default_factory=dict)
    is_exclusive: bool = False
    versioned_only: frozenset[str] = frozenset()

    @property
    def types_to_split(self) -> frozenset[str]:
        """Types that must be split before this worker claims unversioned jobs."""
        return frozenset(self.ranges) if self.is_exclusive else self.versioned_only

    def accepts_unversioned(self, job_type: str) -> bool:
        """Return whether it accepts unversioned jobs of a type. Spec: D-VER-6, contract 22.3."""
        if job_type not in self.ranges:
            return not self.is_exclusive
        return job_type not in self.versioned_only

    def accepts(self, job_type: str, version: Version) -> bool:
        """Return whether it accepts jobs of a version. Spec: job-versioning 8.2, 7.2."""
        found = self.ranges.get(job_type)
        if found is None:
            return not self.is_exclusive
        return any(version in one for one in found)


ALL: Final = Handles()
# clears a declaration: its members are removed
CLEARED: Final = Declaration(0, '{"handlers":null,"exclusive":null}')


def declared(handlers: Sequence[object], *, is_exclusive: bool) -> Declaration:
    """Check the handlers of a worker and return them as stored; an empty list clears them.

    An entry may be just the name of a type. Raises Unprocessable, InvalidVersionRange.
    """
    if not handlers and not is_exclusive:
        return CLEARED
    if len(handlers) > MAX_HANDLERS:
        raise Unprocessable.field(
            "handlers", f"must have at most {MAX_HANDLERS} entries", len(handlers)
        )
    entries = [_entry(n, one) for n, one in enumerate(handlers)]
    text = orjson.dumps({"handlers": entries, "exclusive": is_exclusive})
    # signed, as in the column; 0 means no declaration
    digest = int.from_bytes(hashlib.sha256(text).digest()[:8], signed=True) or 1
    return Declaration(digest, text.decode())


def _entry(n: int, raw: object) -> dict[str, Any]:
    if isinstance(raw, str):
        raw = {"type": raw}
    name = f"handlers[{n}]"
    if not isinstance(raw, Mapping):
        raise Unprocessable.field(name, "must be an object with type and versions", raw)
    if unknown := sorted(set(raw) - MEMBERS):
        raise Unprocessable.field(f"{name}.{unknown[0][:40]}", "is not known")
    job_type, versions = raw.get("type"), raw.get("versions")
    if (
        not isinstance(job_type, str)
        or len(job_type) > MAX_TYPE
        or not TYPE_PATTERN.fullmatch(job_type)
    ):
        raise Unprocessable.field(
            f"{name}.type", "must be dot-separated lower-case words", job_type
        )
    accepts = raw.get("accept_unversioned")
    if accepts is not None and not isinstance(accepts, bool):
        raise Unprocessable.field(f"{name}.accept_unversioned", "must be true or false", accepts)
    if versions is None:
        versions = "*"
    try:
        parse_range(versions)
    except ValueError as problem:
        raise InvalidVersionRange.field(f"{name}.versions", str(problem), versions) from None
    entry = {"type": job_type, "versions": versions}
    return {**entry, "accept_unversioned": False} if accepts is False else entry


@lru_cache(maxsize=1_000)
def handles(declaration: Declaration) -> Handles:
    """Parse a stored declaration; entries of one type are merged."""
    if not declaration.digest:
        return ALL
    read = jsonio.loads(declaration.text.encode())
    if not (read.get("handlers") or read.get("exclusive")):
        return ALL  # it declares only its queue rotation
    found: dict[str, tuple[Range, ...]] = {}
    bare: set[str] = set()  # types of which an entry accepts unversioned jobs
    for entry in read["handlers"]:
        one = parse_range(entry["versions"])
        found[entry["type"]] = (*found.get(entry["type"], ()), one)
        if entry.get("accept_unversioned", True):
            bare.add(entry["type"])
    return Handles(found, read["exclusive"], frozenset(found.keys() - bare))
