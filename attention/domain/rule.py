"""A rule: how it finds incidents, and the words, severity and remedies of its findings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any, Final, NamedTuple

Params = Mapping[str, Any]  # of a statement
MOST: Final = 50  # findings of one rule


class Severity(IntEnum):
    """Effect of a finding; the wire has the names in lower case."""

    NOTICE = 1  # jobs run, but something is unusual
    WARNING = 2  # some jobs fail or wait too long
    CRITICAL = 3  # jobs of a queue, type or server do not run

    @property
    def word(self) -> str:
        """Return the name on the wire."""
        return self.name.lower()


class Subject(StrEnum):
    """The kind of object that a finding is about."""

    TYPE = "type"
    QUEUE = "queue"
    WORKER = "worker"
    SCHEDULE = "schedule"
    WORKFLOW = "workflow"
    TENANT = "tenant"
    POOL = "pool"
    REGION = "region"
    WEBHOOK = "webhook"
    LOOP = "loop"
    SERVER = "server"


class Radius(StrEnum):
    """The jobs whose common values the blast radius counts."""

    NONE = "none"
    FAILED = "failed"  # failed attempts, against completed attempts
    WAITING = "waiting"  # available jobs, against other available jobs
    ACTIVE = "active"  # running jobs, against other running jobs


class Hit(NamedTuple):
    """A row of a rule's statement: one subject for which the condition holds."""

    subject: str
    tenant: str | None  # the only tenant that may see it; None: only unrestricted callers
    since: datetime | None  # None: the statement cannot derive it
    jobs: int
    tenants: int | None  # that the jobs belong to; None: counted later, by queue
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A whole number that operators may change."""

    name: str
    label: str
    default: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Remedy:
    """A button: an action of the console on a target, or a page of the console.

    `args` and `query` are the arguments of the page.
    """

    label: str
    action: str = ""
    target: str = ""
    revision: int | None = None  # of the rules that the action changes
    page: str = ""
    args: tuple[str, ...] = ()
    query: tuple[tuple[str, str], ...] = ()
    anchor: str = ""  # the part of the page


def act(label: str, action: str, target: object, revision: int | None = None) -> Remedy:
    """Return a button that runs an action of the console."""
    return Remedy(label, action, str(target), revision)


def page(label: str, name: str, *args: object, anchor: str = "", **query: object) -> Remedy:
    """Return a link to a page of the console."""
    return Remedy(
        label,
        page=name,
        args=tuple(map(str, args)),
        query=tuple((key, str(value)) for key, value in query.items()),
        anchor=anchor,
    )


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. Its statement reads aggregates and returns at most MOST rows."""

    id: str
    title: str
    subject: Subject
    find: Callable[[Params], list[Hit]]
    text: Callable[[Hit], str]
    cause: Callable[[Hit], str]
    severity: Callable[[Hit], Severity]
    remedies: Callable[[Hit], Sequence[Remedy]]
    thresholds: tuple[Threshold, ...] = ()
    app: str = ""  # label of the app whose tables it reads; empty: the core
    is_exact: bool = False  # the statement always returns the true start
    every_s: int = 0  # least time between two evaluations
    yields_to: tuple[str, ...] = ()  # rules whose finding about the same subject explains it
    radius: Radius = Radius.NONE
    is_public: bool = False  # names no tenant's jobs: shown to callers bound to a tenant, too
    has_overrides: bool = False  # its thresholds may differ by subject

    def defaults(self) -> dict[str, int]:
        """Return the default of each threshold."""
        return {one.name: one.default for one in self.thresholds}


def always(severity: Severity) -> Callable[[Hit], Severity]:
    """Return a function that rates all findings alike."""
    return lambda _: severity


def number(count: int, noun: str) -> str:
    """Return a count with its noun: `1 job`, `1,200 jobs`."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
