"""Decide if handlers of some versions can be removed: the last step of expand and contract.

The module computes with counts. The answer is "yes" only if all counts are complete; otherwise it
is "unknown", never "yes". Spec: job-versioning 9.1.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from jobs.domain.wire.times import format_time
from versioning.domain.version import Range, Version, parse_range

MAJOR: Final = re.compile(r"(0|[1-9][0-9]{0,8})\.x", re.ASCII)


class Safe(StrEnum):
    """The answer."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Why(StrEnum):
    """The reasons of an answer; `FORCES` has the best answer that each allows."""

    JOBS_LEFT = "jobs_left"
    STILL_SENT = "still_sent"
    STILL_ROUTED = "still_routed"
    UNVERSIONED_LEFT = "unversioned_left"
    WILL_BE_SENT = "will_be_sent"
    UNVERSIONED_WILL_BE_SENT = "unversioned_will_be_sent"
    NOT_EXPANDED = "not_expanded"
    NEVER_SEEN = "never_seen"
    NOT_COUNTED = "not_counted"
    SENDS_UNKNOWN = "sends_unknown"
    UNVERSIONED_NOT_COUNTED = "unversioned_not_counted"
    COMING_NOT_COUNTED = "coming_not_counted"
    DEAD_LETTERS = "dead_letters"
    NO_SUCH_VERSION = "no_such_version"
    UNHEARD = "unheard"
    RESTING = "resting"


FORCES: Final = {
    Why.JOBS_LEFT: Safe.NO,
    Why.STILL_SENT: Safe.NO,
    Why.STILL_ROUTED: Safe.NO,
    Why.UNVERSIONED_LEFT: Safe.NO,
    Why.WILL_BE_SENT: Safe.NO,
    Why.UNVERSIONED_WILL_BE_SENT: Safe.NO,
    Why.NOT_EXPANDED: Safe.NO,
    Why.NEVER_SEEN: Safe.UNKNOWN,
    Why.NOT_COUNTED: Safe.UNKNOWN,
    Why.SENDS_UNKNOWN: Safe.UNKNOWN,
    Why.UNVERSIONED_NOT_COUNTED: Safe.UNKNOWN,
    Why.COMING_NOT_COUNTED: Safe.UNKNOWN,
    Why.DEAD_LETTERS: Safe.YES,
    Why.NO_SUCH_VERSION: Safe.YES,
    Why.UNHEARD: Safe.YES,
    Why.RESTING: Safe.YES,
}

PREPOSITION: Final = {Why.STILL_SENT: "at", Why.SENDS_UNKNOWN: "since"}  # before a reason's time


@dataclass(frozen=True, slots=True)
class Jobs:
    """Live jobs by state; the counts of the states in `at_least` are incomplete."""

    available: int = 0
    active: int = 0
    scheduled: int = 0
    retryable: int = 0
    pending: int = 0
    at_least: frozenset[str] = frozenset()

    @property
    def live(self) -> int:
        """The number of all live jobs."""
        return self.available + self.active + self.scheduled + self.retryable + self.pending

    def plus(self, other: "Jobs") -> "Jobs":
        """Add the jobs of another version key."""
        return Jobs(
            self.available + other.available,
            self.active + other.active,
            self.scheduled + other.scheduled,
            self.retryable + other.retryable,
            self.pending + other.pending,
            self.at_least | other.at_least,
        )


class Coming(NamedTuple):
    """Senders of jobs of a version that are not stored yet."""

    source: str  # in plural: `schedules`
    senders: int  # active
    resting: int = 0  # paused


@dataclass(frozen=True, slots=True)
class Use:
    """The use of one version of a type; version None: of its unversioned jobs.

    A job that routing rules send to a version counts for this version and for its own version.
    """

    version: Version | None
    jobs: Jobs = field(default_factory=Jobs)
    dead_letters: int = 0
    workers: int = 0  # live, and accept it
    unheard: int = 0  # accept it, but only FETCH: may be dead
    last_sent_at: datetime | None = None  # null: not in the period of the look
    is_routed: bool = False  # routing rules send jobs to it
    coming: tuple[Coming, ...] = ()

    @property
    def is_coming(self) -> bool:
        """Whether active senders will send jobs of it."""
        return any(one.senders for one in self.coming)


@dataclass(frozen=True, slots=True)
class Looked:
    """The moment of a look, and how far back it covers sent jobs; null: to the start."""

    now: datetime
    since: datetime | None
    quiet: timedelta  # a version may go if no job of it was sent for so long
    cut: tuple[str, ...] = ()  # sources of future jobs that were not read completely

    @property
    def reaches(self) -> bool:
        """Whether the look covers the quiet time."""
        return self.since is None or self.since <= self.now - self.quiet

    def is_recent(self, at: datetime | None) -> bool:
        """Return whether a time lies within the quiet time."""
        return at is not None and at > self.now - self.quiet


@dataclass(frozen=True, slots=True)
class Reason:
    """One fact behind an answer."""

    why: Why
    text: str  # a sentence without its time
    at: datetime | None = None

    @property
    def message(self) -> str:
        """The sentence with its time."""
        return f"{self.text} {PREPOSITION[self.why]} {_time(self.at)}" if self.at else self.text

    @property
    def forces(self) -> Safe:
        """The best answer that it allows."""
        return FORCES[self.why]


@dataclass(frozen=True, slots=True)
class Removal:
    """The answer for handlers of `removed`, with reasons; reasons that allow it are cautions."""

    removed: str
    safe: Safe
    reasons: tuple[Reason, ...]


def parse_removal(text: str) -> Range:
    """Read `1.x` or a range as workers declare it. Raises ValueError, which describes the error."""
    if match := MAJOR.fullmatch(text):
        major = int(match[1])
        return Range(Version(major), Version(major + 1))
    return parse_range(text)


def decide(removed: str, uses: Sequence[Use], bare: Use, looked: Looked) -> Removal:
    """Decide if handlers of versions can be removed.

    `uses` has all versions of the type, `bare` its unversioned jobs. Any worker gets unversioned
    jobs, also a worker without old handlers. Their arguments are not described by a version, so
    they prevent the removal. Raises ValueError.
    """
    gone = parse_removal(removed)
    going = [use for use in uses if use.version is not None and use.version in gone]
    staying = [use for use in uses if use.version is not None and use.version not in gone]
    reasons = [
        *(reason for use in going for reason in _of_going(use, looked)),
        *(reason for use in staying for reason in _of_staying(use, looked)),
        *_of_bare(bare),
        *_of_none(removed, uses, going),
        *_of_sources(going, bare, looked),
    ]
    if going and not looked.reaches and not any(looked.is_recent(u.last_sent_at) for u in going):
        reasons.append(Reason(Why.SENDS_UNKNOWN, "enqueues are recorded only", looked.since))
    order = (Safe.NO, Safe.UNKNOWN, Safe.YES)
    reasons.sort(key=lambda reason: order.index(reason.forces))
    return Removal(removed, reasons[0].forces if reasons else Safe.YES, tuple(reasons))


def _of_going(use: Use, looked: Looked) -> list[Reason]:
    found = []
    if use.jobs.live:
        are = "is" if use.jobs.live == 1 else "are"
        found.append(Reason(Why.JOBS_LEFT, f"{_counted(use.jobs)} of {use.version} {are} left"))
    elif use.jobs.at_least:
        states = ", ".join(sorted(use.jobs.at_least))
        message = f"not all {states} jobs were looked at: some may be of {use.version}"
        found.append(Reason(Why.NOT_COUNTED, message))
    if looked.is_recent(use.last_sent_at):
        found.append(Reason(Why.STILL_SENT, f"producers sent {use.version}", use.last_sent_at))
    if use.is_routed:
        found.append(Reason(Why.STILL_ROUTED, f"routing rules send jobs to {use.version}"))
    found += _of_coming(use, str(use.version), Why.WILL_BE_SENT)
    if use.dead_letters:
        jobs = f"{use.dead_letters:,} {_plural('job', use.dead_letters)} of {use.version}"
        message = f"{jobs} in the dead letter would wait if retried"
        found.append(Reason(Why.DEAD_LETTERS, message))
    return found


def _of_staying(use: Use, looked: Looked) -> list[Reason]:
    is_recent = looked.is_recent(use.last_sent_at)
    is_used = use.jobs.live or use.is_routed or use.is_coming or is_recent
    if use.workers or not is_used:
        return []
    if use.unheard:
        message = f"only workers that do not heartbeat accept {use.version}, which stays"
        return [Reason(Why.UNHEARD, message)]
    return [Reason(Why.NOT_EXPANDED, f"no worker that runs accepts {use.version}, which stays")]


def _of_bare(bare: Use) -> list[Reason]:
    coming = _of_coming(bare, "no version", Why.UNVERSIONED_WILL_BE_SENT)
    if bare.jobs.live:
        verbs = ("has", "goes") if bare.jobs.live == 1 else ("have", "go")
        message = f"{_counted(bare.jobs)} {verbs[0]} no version and {verbs[1]} to any worker"
        return [Reason(Why.UNVERSIONED_LEFT, message), *coming]
    if bare.jobs.at_least:
        states = ", ".join(sorted(bare.jobs.at_least))
        message = f"not all {states} jobs were looked at: some may have no version"
        return [Reason(Why.UNVERSIONED_NOT_COUNTED, message), *coming]
    return coming


def _of_coming(use: Use, version: str, why: Why) -> list[Reason]:
    active = [_of_senders(one.senders, one.source) for one in use.coming if one.senders]
    resting = [_of_senders(one.resting, one.source, "paused ") for one in use.coming if one.resting]
    found = []
    if active:
        found.append(Reason(why, f"{' and '.join(active)} will send {version}"))
    if resting:
        found.append(Reason(Why.RESTING, f"{' and '.join(resting)} would send {version}"))
    return found


def _of_senders(number: int, source: str, adjective: str = "") -> str:
    """Say how many senders of a source there are; `source` begins with a noun in plural."""
    noun, _, rest = source.partition(" ")
    return f"{number:,} {adjective}{_plural(noun.removesuffix('s'), number)} {rest}".rstrip()


def _plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"


def _of_sources(going: Sequence[Use], bare: Use, looked: Looked) -> list[Reason]:
    if not looked.cut or not going or bare.is_coming or any(use.is_coming for use in going):
        return []
    message = f"not all {' and '.join(looked.cut)} of the type were looked at"
    return [Reason(Why.COMING_NOT_COUNTED, message)]


def _of_none(removed: str, uses: Sequence[Use], going: Sequence[Use]) -> list[Reason]:
    if not uses:
        return [Reason(Why.NEVER_SEEN, "no job of this type ever came with a version")]
    if not going:
        return [Reason(Why.NO_SUCH_VERSION, f"no job ever came with a version in {removed}")]
    return []


def _counted(jobs: Jobs) -> str:
    names = ("available", "active", "scheduled", "retryable", "pending")
    parts = [f"{number:,} {name}" for name in names if (number := getattr(jobs, name))]
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"{'at least ' if jobs.at_least else ''}{listed} {_plural('job', jobs.live)}"


def _time(at: datetime | None) -> str:
    return format_time(at.replace(microsecond=0)) if at else "-"
