"""The seam: what an extension may add to the core, and in which order they are asked.

`OJS["EXTENSIONS"]` is one ordered list of dotted paths, like Django's MIDDLEWARE. A hook that is
not overridden costs nothing: the lists below hold only extensions that have it.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, Protocol

from django.db.models import QuerySet
from django.utils.module_loading import import_string
from prometheus_client import Metric

from jobs.conf import conf, read_anew
from jobs.domain.alerts import Alert, Noted
from jobs.domain.caller import Caller
from jobs.domain.claim import ClaimPlan, Declaration, FetchRequest, LaneKey, Way
from jobs.domain.envelope import JobDraft
from jobs.domain.errors import OJSError
from jobs.domain.gates import Gate
from jobs.domain.job import Job
from jobs.domain.transition import Transition
from jobs.domain.vault import Resealed

OTHER_TENANTS = "_other"  # those that metrics do not tell apart
Label = Callable[[str, str], str]  # names a label value of a kind; those beyond a bound share one


@dataclass(frozen=True, slots=True)
class Loop:
    """Periodic work: `run` does one batch and returns how many rows it changed."""

    name: str
    run: Callable[[], int]
    interval_ms: int
    # in how many ms the next row is due, None: no row waits; asked before each turn, which is left
    # out while nothing is due
    due_in_ms: Callable[[], int | None] | None = None
    full: int = 1  # rows of a batch that the next one follows at once
    longest_ms: int = 0  # up to this, a pause is ten times as long as the turn before it
    rest_ms: int = 0  # between batches that follow each other, for work that must not crowd others


@dataclass(frozen=True, slots=True)
class Facts:
    """What an extension declares in the manifest. Spec: contract 3.9."""

    name: str
    uri: str
    version: str
    tier: str = "official"  # or "experimental"
    capabilities: dict[str, bool] = field(default_factory=dict)
    paths: tuple[str, ...] = ()  # the beginnings of its paths below /ojs/v1


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of `manage.py ojs`: `run` gets the parsed options, and returns text and exit code.

    The option `json` asks for one line of JSON.
    """

    name: str
    help: str
    declare: Callable[[ArgumentParser], object]
    run: Callable[[Mapping[str, Any]], tuple[str, int]]


class NotedRows(NamedTuple):
    """Rows that a loop keeps, few; the rest are names of their columns."""

    found: QuerySet[Any]
    subject: str
    since: str
    tenant: str | None = None
    facts: Mapping[str, str] = {}  # columns by the name they get


class Alerts(NamedTuple):
    """What the loops of an extension have noted that an operator should look at, by kind of alert.

    The rows of all extensions are read in one statement.
    """

    rows: Mapping[str, NotedRows]
    tell: Callable[[Sequence[Noted]], Iterable[Alert]]  # called where there are rows


class TenantLabels(NamedTuple):
    """Tenants in metrics."""

    most: int  # the first ones with a job; the others are called OTHER_TENANTS
    everywhere: bool  # in all metrics of jobs and queues, not only where an extension says so


class Weighed(NamedTuple):
    """Weights of lanes, and the version of the terms they follow from; 1 where nobody says."""

    version: int
    named: Mapping[LaneKey, float]
    otherwise: Mapping[LaneKey, float] = {}  # where no extension names one
    factors: Mapping[LaneKey, float] = {}  # what is left of a weight, whoever named it
    boosts: Mapping[LaneKey, int] = {}  # added to the priority; 0 where nobody says


class Sends(NamedTuple):
    """Jobs of a type that an extension will store later; see `Extension.sends`.

    By version as written, None: without one, and how many of `source` send it.
    """

    source: str  # what will send them, in plural: `schedules`
    versions: tuple[tuple[str | int | None, int], ...]
    resting: tuple[tuple[str | int | None, int], ...] = ()  # those that somebody has to wake before
    is_cut: bool = False  # not all were looked at


class Repeats(Protocol):
    """Drafts of one request that may have been stored before, in the transaction of the insert."""

    def known(self) -> Mapping[int, str]:
        """Return the ids of the jobs that drafts have become before, by position.

        That may be another draft of the request. Locks what keeps others from storing them until
        the transaction ends, in one order for all; nothing but a schedule is locked before.
        """

    def settle(self, stored: Mapping[int, str | None]) -> None:
        """Note what became of the drafts that were not known: a job, or None if it was refused."""


class Extension:
    """Base of all extensions; every hook does nothing."""

    def prepare(self, draft: JobDraft, caller: Caller) -> JobDraft | None:
        """Change, drop (None) or refuse (raise) one draft.

        Outside any transaction, without SQL but for what this process meets for the first time.
        """
        return draft

    def tenant_of(self, headers: Mapping[str, Any]) -> str | None:
        """Return the tenant that a request names in its headers, spelled as in WSGI.

        The request sees and touches nothing of others then, as one whose key is bound to it.
        Raises OJSError where they say what they must not.
        """
        return None

    def tenant_headers(self) -> Mapping[str, Any]:
        """Return the headers that `tenant_of` reads as parameters of OpenAPI, by component name."""
        return {}

    def wishes(self, headers: Mapping[str, Any]) -> Collection[str]:
        """Return what a request asks for in its headers, spelled as in WSGI: see `Caller.asks`.

        Raises OJSError where they say what they must not.
        """
        return ()

    def repeats(self, drafts: Sequence[JobDraft], caller: Caller) -> Repeats | None:
        """Return who knows which of these were stored before; None: none can have been.

        Without SQL. Raises OJSError.
        """
        return None

    def refusals(
        self, drafts: Sequence[JobDraft], caller: Caller, terms: int
    ) -> Mapping[int, OJSError]:
        """Return why drafts must not be stored, by position, and set the `warnings` of others.

        Asked before each insert, outside any transaction of its own, and for what will be enqueued
        later. `terms` as `gates` has it. No statement for what this process has met before.
        """
        return {}

    def assign(self, drafts: Sequence[JobDraft], terms: int) -> None:
        """Set the routes of drafts that are just being stored, as of a version of the terms.

        Asked before each insert, after `refusals`; `terms` as `gates` has it. Of a change of the
        terms in between another insert follows, so set the same route again where it still holds.
        No statement for what this process has met before.
        """

    def gates(self, drafts: Sequence[JobDraft], caller: Caller, terms: int) -> bool:
        """Tell whether `admit` must run for these; false keeps enqueue at one statement.

        `terms` is the version of the terms that the insert will name: go by what you know of this
        version or a later one, and a change counts from its commit on.
        """
        return False

    def admit(self, drafts: Sequence[JobDraft], caller: Caller) -> None:
        """Lock, count and refuse, once per request, in the transaction of the insert."""

    def hold(self, drafts: Sequence[JobDraft]) -> None:
        """Take the locks of `admit` for all of a request whose parts are admitted one by one."""

    def refused(self, problem: OJSError, caller: Caller) -> None:
        """Tell of a refusal by `admit`, which is undone by now."""

    def plan(self, plan: ClaimPlan, request: FetchRequest) -> ClaimPlan:
        """Reorder or narrow a claim; data only, from the extension's own cache.

        A request that names no queues takes those that the plan names.
        """
        return plan

    def declines(self, jobs: Sequence[Job], request: FetchRequest) -> Collection[str]:
        """Return the ids of claimed jobs that this worker must not get after all.

        For what a plan cannot rule out. They are given back uncounted, and a claim that has nothing
        else is planned anew: see to it that it does not meet them again.
        """
        return ()

    def declared(self, handlers: Sequence[object], *, is_exclusive: bool) -> Declaration:
        """Return what a worker says that it handles, as it is stored. Raises OJSError.

        It comes back in `FetchRequest.declaration`; the first extension that has the hook decides.
        """
        raise NotImplementedError

    def enlists(self, worker_id: str, pool: str | None) -> None:
        """Refuse a worker that reports itself and must not work here. Raises OJSError.

        `pool` is the one it names with this report. No statement unless the settings ask for one.
        """

    def forget(self) -> None:
        """Drop what `plan`, `weigh`, `ways` and `apart` go by: those terms are not the latest."""

    def weigh(self, keys: Sequence[LaneKey]) -> Weighed:
        """Return the weights and boosts of lanes that are being made, or are to be shared anew.

        `forget` is called when the version is not the latest. The first extension that names a
        weight or a boost decides.
        """
        raise NotImplementedError

    def ways(self, queues: Collection[str]) -> tuple[int, Mapping[str, Way]]:
        """Return how those of `queues` are shared whose way is not the plain one.

        With the version of the terms, as `weigh` does. Asked when lanes are made.
        """
        raise NotImplementedError

    def apart(self, tenants: Collection[str]) -> tuple[int, Collection[str]]:
        """Return those of `tenants` whose jobs only claims for them take.

        With the version of the terms, as `weigh` does. Asked when lanes are made, or given their
        weights anew.
        """
        raise NotImplementedError

    def knows(self, tenant: str) -> bool:
        """Tell whether there is a tenant: a FETCH that names `tenant:queue` asks for its jobs."""
        return False

    def tenant_without(self, scope: str) -> str | None:
        """Return whose a request is that names no tenant and needs this scope; None: any's."""
        return None

    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Return the gates of this extension that a waiting job meets, open ones too.

        At most two statements. `viewer` is the tenant that whoever asks is bound to: leave out
        numbers of others. A gate that a claim enforces has to go by what `plan` goes by. The
        `route` of the job is that of its lane.
        """
        return ()

    def sends(self, job_type: str, *, looked: int) -> Sends | None:
        """Tell what it will send of a type that no job is stored for yet; None: never anything.

        The type is without a version. One statement, by an index that leads to what sends the type,
        `looked` entries of it at most.
        """
        return None

    def alerts(self) -> Alerts:
        """Name what an operator should look at."""
        return Alerts({}, lambda _: ())

    def observe(self, transitions: Sequence[Transition]) -> None:
        """Follow up on `watched` jobs that ended, or ran anew after they had, in that transaction.

        Called with the jobs' rows locked. Anything it raises undoes the end of the jobs, too.
        """

    def retains(self, job_ids: Sequence[str]) -> set[str]:
        """Return those of `watched`, ended jobs that must not be removed yet.

        Asked once per batch, in the transaction that removes the others, with their rows locked.
        """
        return set()

    def unread_from(self) -> int | None:
        """Return the stamp from which it has yet to read the event record, None: it waits for none.

        Retention leaves events from there on, up to a bound; see services/record/unread.py.
        """
        return None

    def reseal(self) -> Resealed:
        """Encrypt its stored secrets with the first key."""
        return Resealed()

    def tables(self) -> Sequence[str]:
        """Name its tables that grow with use: kept analyzed, and emptied by a reset."""
        return ()

    def configuration(self) -> Sequence[str]:
        """Name its tables that `plan`, `weigh` and `ways` read: a scratch store has them, too."""
        return ()

    def loops(self) -> Iterable[Loop]:
        """Contribute periodic work to `runworker`."""
        return ()

    def metrics(self, label: Label) -> Iterable[Metric]:
        """Contribute to /metrics what the database knows: any process answers the same values.

        Nothing here reads a table that grows with the number of jobs.
        """
        return ()

    def tenant_labels(self) -> TenantLabels | None:
        """Say which tenants metrics tell apart; None: none.

        Has to be the same in all processes: counters of tenants begin when they are told apart.
        """
        return None

    def verbs(self) -> Sequence[Verb]:
        """Contribute verbs to `manage.py ojs`."""
        return ()

    def manifest(self) -> Sequence[Facts]:
        """Declare what it offers, with its capabilities and its paths."""
        return ()


@cache
def installed() -> tuple[Extension, ...]:
    """All extensions in configured order. Raises ImportError or TypeError on a wrong path."""
    found = tuple(import_string(path)() for path in conf().extensions)
    for extension in found:
        if not isinstance(extension, Extension):
            raise TypeError(f"{type(extension).__name__} is not a jobs.extensions.Extension")
    return found


@cache
def having(hook: str) -> tuple[Any, ...]:
    """The bound `hook` methods of the extensions that override it, in order."""
    return tuple(
        getattr(extension, hook)
        for extension in installed()
        if getattr(type(extension), hook) is not getattr(Extension, hook)
    )


def tell_refused(problem: OJSError, caller: Caller) -> None:
    """Let the extensions tell of a refusal."""
    for hook in having("refused"):
        hook(problem, caller)


def tenant_labels() -> TenantLabels | None:
    """Return which tenants metrics tell apart, as the first extension that says it has it."""
    said = (hook() for hook in having("tenant_labels"))
    return next((labels for labels in said if labels is not None), None)


def refusals(drafts: Sequence[JobDraft], caller: Caller, terms: int) -> dict[int, OJSError]:
    """Return why drafts must not be stored, by position; the first extension that says so."""
    found: dict[int, OJSError] = {}
    for hook in having("refusals"):
        found = {**hook(drafts, caller, terms), **found}
    return found


def sends(job_type: str, *, looked: int) -> list[Sends]:
    """Return what extensions will send of a type."""
    said = (hook(job_type, looked=looked) for hook in having("sends"))
    return [one for one in said if one is not None]


def forget() -> None:
    """Let all extensions read anew what follows from the terms."""
    for hook in having("forget"):
        hook()


def declared(handlers: Sequence[object], *, is_exclusive: bool) -> Declaration | None:
    """Return what a worker declares; None: no extension wants to know. Raises OJSError."""
    for hook in having("declared"):
        found: Declaration = hook(handlers, is_exclusive=is_exclusive)
        return found
    return None


def tables() -> tuple[str, ...]:
    """The tables of all extensions."""
    return tuple(name for hook in having("tables") for name in hook())


read_anew(installed, having)
