"""Routing rules: the version that each job of a type goes to.

A hash of the job's id and the revision of the rules draws the version. So the draw is equal in
every process, after a restart and at every attempt, and changes with the rules. Spec:
job-versioning 10, contract 22.4.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from itertools import accumulate
from typing import Final, NamedTuple

from versioning.domain.declaration import Handles
from versioning.domain.version import Version

DIGITS: Final = 8  # of the hash, in hexadecimal
BUCKETS: Final = 16**DIGITS
WHOLE: Final = 100  # percent


class Mode(StrEnum):
    """The effect of a job's own version."""

    COMPATIBLE = "compatible"  # the worker must accept it, too; rules that do not fit are skipped
    OVERRIDE = "override"  # ignored


class OnNoWorker(StrEnum):
    """The treatment of jobs whose version no worker accepts."""

    HOLD = "hold"
    FALLBACK = "fallback"  # after a while, workers that accept the job's own version get them


class Share(NamedTuple):
    """One rule; `text` is the version as it was written."""

    text: str | int
    version: Version
    weight: float


class Key(NamedTuple):
    """The content of a version key; `version` None: unversioned jobs, `target` None: not drawn."""

    type: str
    version: Version | None
    target: Version | None = None


def served_as(key: Key) -> Version | None:
    """Return the version whose workers get the jobs of a version key; None: any workers."""
    return key.version if key.target is None else key.target


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a type; `compatible` has the versions that each version is compatible with."""

    revision: int
    shares: tuple[Share, ...]
    mode: Mode = Mode.COMPATIBLE
    on_no_worker: OnNoWorker = OnNoWorker.HOLD
    compatible: Mapping[Version, frozenset[Version]] = field(default_factory=dict)

    @property
    def live(self) -> tuple[Share, ...]:
        """The rules that get jobs."""
        return tuple(one for one in self.shares if one.weight > 0)

    @property
    def lowest(self) -> Version:
        """The lowest version that gets jobs."""
        return min(one.version for one in self.live)

    def drawn(self, job_id: str) -> Version:
        """Return the version that a job is drawn for."""
        return chosen(self.shares, bucket(job_id, self.revision))

    def assigned(self, job_id: str, version: Version | None) -> Version | None:
        """Return the version that a job goes to; None: its own version decides."""
        return self.if_fitting(version, self.drawn(job_id))

    def if_fitting(self, version: Version | None, target: Version) -> Version | None:
        """Return the target if a job of a version may be sent to it."""
        if self.mode is Mode.OVERRIDE or version is None or self.fits(version, target):
            return target
        return None

    def fits(self, version: Version, target: Version) -> bool:
        """Return whether jobs of a version are compatible with another version."""
        if target.major == version.major and target.minor >= version.minor:
            return True
        return version in self.compatible.get(target, ())

    def resolved(self, version: Version | None, target: Version | None) -> Version | None:
        """Return the current target of jobs that these rules or older rules sent to `target`.

        If one version alone is left, all jobs go there at once, before any is moved. A target that
        the rules no longer have is replaced by the lowest version until its jobs are redrawn.
        """
        live = self.live
        if len(live) == 1:
            return self.if_fitting(version, live[0].version)
        if target is None:
            return None
        if all(one.version != target for one in live):
            target = self.lowest
        return self.if_fitting(version, target)


def bucket(job_id: str, revision: int) -> float:
    """Return the position of a job between 0 and 1."""
    digest = sha256(f"{job_id}:{revision}".encode()).hexdigest()
    return int(digest[:DIGITS], 16) / BUCKETS


def chosen(shares: Sequence[Share], place: float) -> Version:
    """Return the version at a position of the cumulative weights, in the order of the rules."""
    ends = list(accumulate(one.weight for one in shares))
    for one, end in zip(shares, ends, strict=True):
        if place * ends[-1] < end:
            return one.version
    raise AssertionError("a place is below 1, and some weight above 0")


def admits(worker: Handles, key: Key, rules: Rules | None, *, has_fallen_back: bool) -> bool:
    """Return whether a worker gets the jobs of a version key. Spec: contract 22.4."""
    if key.version is None and not worker.accepts_unversioned(key.type):
        return False  # regardless of rules
    is_plain = key.version is None or worker.accepts(key.type, key.version)
    target = None if rules is None else rules.resolved(key.version, key.target)
    if rules is None or target is None:
        return is_plain
    if worker.accepts(key.type, target) and (is_plain or rules.mode is Mode.OVERRIDE):
        return True
    return has_fallen_back and rules.on_no_worker is OnNoWorker.FALLBACK and is_plain


def waits_for(key: Key, rules: Rules | None) -> Version | None:
    """Return the version that a worker has to accept for a version key; None: any worker does."""
    target = None if rules is None else rules.resolved(key.version, key.target)
    return key.version if target is None else target


# --- changing -------------------------------------------------------------------------------------


def newest(shares: Iterable[Share]) -> Share:
    """Return the rule of the highest version: the canary."""
    return max(shares, key=lambda one: one.version)


def stable(shares: Sequence[Share]) -> Share | None:
    """Return the rule of the next lower version, which gets all jobs at a rollback, or None."""
    highest = newest(shares).version
    lower = [one for one in shares if one.version < highest]
    return max(lower, key=lambda one: one.version) if lower else None


def collapsed(shares: Sequence[Share]) -> tuple[Share, ...] | None:
    """Return the rules after a rollback; None: there is no lower version."""
    found = stable(shares)
    return None if found is None else (found._replace(weight=WHOLE),)


def ramped(shares: Sequence[Share], percent: float) -> tuple[Share, ...]:
    """Give the newest version a percentage; the other versions keep their ratio in the rest.

    If they had no weight, the next lower version gets the rest.
    """
    highest, lower = newest(shares), stable(shares)
    others = sum(one.weight for one in shares if one is not highest)
    rest = WHOLE - percent

    def weight(one: Share) -> float:
        if one is highest:
            return percent
        if others > 0:
            return tidy(rest * one.weight / others)
        return rest if one is lower else 0

    return tuple(one._replace(weight=weight(one)) for one in shares)


def tidy(weight: float) -> float:
    """Return a weight in its shortest form: an integer if it is whole."""
    rounded = round(weight, 9)
    return int(rounded) if rounded == int(rounded) else rounded
