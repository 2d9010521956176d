"""Uniqueness policies and fingerprints; duplicates.py decides what happens to equal jobs.

Spec: core (attribute `unique`), contract 6; versions: contract 22.5; tenants: D-MT-13.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from unicodedata import normalize

import orjson

from jobs.domain.errors import Problem
from jobs.domain.states import CODES, State
from jobs.domain.wire.durations import LONGEST_MS, format_duration, parse_period
from ojs_tasks.codecs.payload import DIGEST, has_encoded
from ojs_tasks.versions import parse_version

DIMENSIONS: Final = ("type", "queue", "args", "meta", "version")
DEFAULT_KEYS: Final = ("type", "args")
DEFAULT_STATES: Final = (
    State.AVAILABLE, State.ACTIVE, State.SCHEDULED, State.RETRYABLE, State.PENDING,
)  # fmt: skip
DEFAULT_TENANT: Final = "_default"  # left out of the fingerprint, as without tenants
MAX_NAMES: Final = 64
WIDE: Final = 1 << 63  # integers from here on are written digit by digit


class OnConflict(StrEnum):
    """The effect of a match on the new job."""

    REJECT = "reject"
    REPLACE = "replace"
    REPLACE_EXCEPT_SCHEDULE = "replace_except_schedule"
    IGNORE = "ignore"


REPLACING: Final = frozenset({OnConflict.REPLACE, OnConflict.REPLACE_EXCEPT_SCHEDULE})


@dataclass(frozen=True, slots=True)
class UniquePolicy:
    """A normalized policy; `args_keys` None: all arguments, `period_ms` None: no window."""

    keys: tuple[str, ...] = DEFAULT_KEYS
    args_keys: tuple[str, ...] | None = None
    meta_keys: tuple[str, ...] = ()
    period_ms: int | None = None
    states: tuple[State, ...] = DEFAULT_STATES
    on_conflict: OnConflict = OnConflict.REJECT
    is_default: bool = True  # no dimension was named, so versions differ. Spec: contract 22.5

    @property
    def mask(self) -> int:
        """The states as bits: 1 << storage code."""
        return sum(1 << CODES[state] for state in self.states)

    def to_wire(self) -> dict[str, Any]:
        """Return the policy as sent; unset members are left out."""
        shown: dict[str, Any] = {"keys": list(self.keys)}
        if self.args_keys is not None:
            shown["args_keys"] = list(self.args_keys)
        if self.meta_keys:
            shown["meta_keys"] = list(self.meta_keys)
        if self.period_ms is not None:
            shown["period"] = format_duration(self.period_ms)
        shown["states"] = [state.value for state in self.states]
        shown["on_conflict"] = self.on_conflict.value
        return shown


# --- policy ---------------------------------------------------------------------------------------


def read_policy(raw: object, refuse: Callable[[str, str, object], None]) -> UniquePolicy | None:
    """Read `unique`; problems go to `refuse(field, problem, received)`. Spec: contract 6.1."""
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        refuse("unique", "must be an object", raw)
        return None
    reader = _PolicyReader(raw, refuse)
    keys, args_keys, is_default = reader.dimensions()
    return UniquePolicy(
        keys=keys,
        args_keys=args_keys,
        meta_keys=reader.meta_keys(keys),
        period_ms=reader.period(),
        states=reader.states(),
        on_conflict=reader.on_conflict(),
        is_default=is_default,
    )


class _PolicyReader:
    """Reads one policy member by member."""

    def __init__(self, raw: Mapping[str, Any], refuse: Callable[[str, str, object], None]) -> None:
        self.raw = raw
        self._refuse = refuse

    def refuse(self, name: str, problem: str, received: object) -> None:
        self._refuse(f"unique.{name}", problem, received)

    def dimensions(self) -> tuple[tuple[str, ...], tuple[str, ...] | None, bool]:
        """Return (keys, args_keys, whether none was named); `keys` wins over `key` (D30)."""
        args_keys = self.names("args_keys")
        # `dimensions` is what the job-versioning seed calls `keys`
        named = "keys" if self.raw.get("keys") is not None else "dimensions"
        keys = self.names(named)
        if keys is not None:
            if unknown := [key for key in keys if key not in DIMENSIONS]:
                self.refuse(named, f"must name {', '.join(DIMENSIONS)}", unknown[0])
        elif (alias := self.names("key", one_is_enough=True)) is not None:
            keys = tuple(key for key in alias if key in DIMENSIONS)
            if more := tuple(key for key in alias if key not in DIMENSIONS):
                args_keys = tuple(dict.fromkeys((*(args_keys or ()), *more)))
                keys = (*keys, "args")
        if keys is None:
            return DEFAULT_KEYS, args_keys, True
        keys = tuple(dict.fromkeys(keys if "type" in keys else ("type", *keys)))
        if args_keys is not None and "args" not in keys:
            self.refuse("args_keys", "needs args in keys", list(args_keys))
        return keys, args_keys, False

    def meta_keys(self, keys: Sequence[str]) -> tuple[str, ...]:
        found = self.names("meta_keys")
        if "meta" in keys and not found:
            self.refuse("meta_keys", "is required with meta in keys", self.raw.get("meta_keys"))
        return found or ()

    def names(self, name: str, *, one_is_enough: bool = False) -> tuple[str, ...] | None:
        """Read a list of names without repetitions."""
        raw = self.raw.get(name)
        if raw is None:
            return None
        if one_is_enough and isinstance(raw, str):
            raw = [raw]
        if (
            not isinstance(raw, list)
            or not 1 <= len(raw) <= MAX_NAMES
            or not all(isinstance(item, str) for item in raw)
        ):
            self.refuse(name, f"must be an array of 1 to {MAX_NAMES} names", raw)
            return None
        return tuple(dict.fromkeys(raw))

    def period(self) -> int | None:
        for name in ("period", "within"):
            if (raw := self.raw.get(name)) is not None:
                try:
                    return parse_period(raw)
                except ValueError as problem:
                    self.refuse(name, str(problem), raw)
                    return None
        raw = self.raw.get("period_ms")
        if isinstance(raw, float) and raw.is_integer():
            raw = int(raw)
        if raw is None or (type(raw) is int and 1 <= raw <= LONGEST_MS):
            return raw
        self.refuse("period_ms", f"must be an integer from 1 to {LONGEST_MS}", raw)
        return None

    def states(self) -> tuple[State, ...]:
        raw = self.raw.get("states")
        if raw is None:
            return DEFAULT_STATES
        if not isinstance(raw, list) or not raw:
            self.refuse("states", "must be a non-empty array of states", raw)
            return DEFAULT_STATES
        unknown = [name for name in raw if not isinstance(name, str) or name not in CODES]
        if unknown:
            self.refuse("states", f"must name {', '.join(State)}", unknown[0])
            return DEFAULT_STATES
        return tuple(State(name) for name in dict.fromkeys(raw))

    def on_conflict(self) -> OnConflict:
        raw = self.raw.get("on_conflict")
        if raw is None:
            return OnConflict.REJECT
        if not isinstance(raw, str) or raw not in set(OnConflict):
            self.refuse("on_conflict", f"must be one of {', '.join(OnConflict)}", raw)
            return OnConflict.REJECT
        return OnConflict(raw)


# --- fingerprint ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subject:
    """The members of a job that its fingerprint can cover."""

    type: str
    queue: str
    args: list[Any]
    meta: Mapping[str, Any]
    tenant: str = DEFAULT_TENANT
    version: str | int | None = None


def fingerprint(policy: UniquePolicy, job: Subject) -> str:
    """Return the SHA-256 of the canonical text, lower-case hex. Spec: contract 6.2.

    Raises KeyError with the name in `args_keys` that the arguments do not have.
    """
    members: dict[str, Any] = {"type": job.type}
    if "queue" in policy.keys:
        members["queue"] = job.queue
    if "args" in policy.keys:
        members["args"] = (
            _compared(job)
            if policy.args_keys is None
            else {name: _argument(job.args, name) for name in policy.args_keys}
        )
    if "meta" in policy.keys:
        members["meta"] = {name: job.meta[name] for name in policy.meta_keys if name in job.meta}
    if job.version is not None and (policy.is_default or "version" in policy.keys):
        members["version"] = str(parse_version(job.version))  # `2` and `2.0` are equal
    if job.tenant != DEFAULT_TENANT:
        members["tenant"] = job.tenant
    return hashlib.sha256(canonical(members)).hexdigest()


def _compared(job: Subject) -> Any:
    """Return the arguments; for encoded ones the producer's digest of the plaintext, if any.

    Equal arguments have different ciphertexts. Spec: contract 35.
    """
    digest = job.meta.get(DIGEST)
    if isinstance(digest, str) and has_encoded(job.args):
        return {DIGEST: digest}
    return job.args


def missing_argument(name: str) -> Problem:
    """Return the problem of `args_keys` that names a missing argument."""
    return Problem("unique.args_keys", "must name a member of args", name)


def _argument(args: list[Any], name: str) -> Any:
    if args and isinstance(args[0], dict) and name in args[0]:
        return args[0][name]
    if name.isascii() and name.isdigit() and len(name) <= 9 and int(name) < len(args):  # noqa: PLR2004 - digits of an index
        return args[int(name)]
    raise KeyError(name)


def canonical(value: Any) -> bytes:
    """Write JSON so that equal values have equal text: sorted keys, NFC, shortest numbers."""
    return orjson.dumps(_normal(value), option=orjson.OPT_SORT_KEYS)


def _normal(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else normalize("NFC", value)
    if isinstance(value, float):
        return _normal(int(value)) if value.is_integer() else value
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -WIDE <= value < WIDE else orjson.Fragment(str(value))
    if isinstance(value, dict):  # in order: of keys that become equal the same one stays
        return {_normal(key): _normal(value[key]) for key in sorted(value)}
    return [_normal(item) for item in value]
