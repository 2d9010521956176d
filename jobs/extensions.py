"""The seam: the hooks of extensions, and the order in which they are called.

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
from jobs.domain.draft import JobDraft
from jobs.domain.errors import OJSError
from jobs.domain.gates import Gate
from jobs.domain.job import Job
from jobs.domain.transition import Transition
from jobs.domain.vault import Resealed

OTHER_TENANTS = "_other"  # tenants without a label in metrics
Label = Callable[[str, str], str]  # maps a label value of a kind; values beyond a bound share one


@dataclass(frozen=True, slots=True)
class Loop:
    """Periodic work: `run` does one batch and returns how many rows it changed."""

    name: str
    run: Callable[[], int]
    interval_ms: int
    # Returns in how many ms the next row is due, None: no row waits. The loop calls it before each
    # run and skips the run while no row is due.
    due_in_ms: Callable[[], int | None] | None = None
    full: int = 1  # rows of a full batch, which the next one follows at once
    longest_ms: int = 0  # up to this: a pause is ten times as long as the run before it
    rest_ms: int = 0  # between batches, for work that must not slow down other work


@dataclass(frozen=True, slots=True)
class Facts:
    """A feature of an extension in the manifest. Spec: contract 3.9."""

    name: str
    uri: str
    version: str
    tier: str = "official"  # or "experimental"
    capabilities: dict[str, bool] = field(default_factory=dict)
    paths: tuple[str, ...] = ()  # prefixes of its paths below /ojs/v1


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
    """The few rows of a loop's notes; the other members are names of their columns."""

    found: QuerySet[Any]
    subject: str
    since: str
    tenant: str | None = None
    facts: Mapping[str, str] = {}  # columns by the name they get


class Alerts(NamedTuple):
    """The notes of an extension's loops, as alerts for operators, by kind of alert.

    The rows of all extensions are read in one statement.
    """

    rows: Mapping[str, NotedRows]
    tell: Callable[[Sequence[Noted]], Iterable[Alert]]  # called if there are rows


class TenantLabels(NamedTuple):
    """The labels of tenants in metrics."""

    most: int  # the first tenants with a job; all others share OTHER_TENANTS
    everywhere: bool  # in all metrics of jobs and queues, not only in an extension's own


class Weighed(NamedTuple):
    """Weights of lanes, and their configuration version; the default weight is 1."""

    version: int
    named: Mapping[LaneKey, float]
    otherwise: Mapping[LaneKey, float] = {}  # for lanes that no extension names
    factors: Mapping[LaneKey, float] = {}  # throttles, applied to the final weight
    boosts: Mapping[LaneKey, int] = {}  # added to the priority; the default is 0


class Sends(NamedTuple):
    """Jobs of a type that an extension will store later; see `Extension.sends`.

    By version as written, None: without a version; `source` names the senders, and each count is
    how many of them send it.
    """

    source: str  # the senders, in plural: `schedules`
    versions: tuple[tuple[str | int | None, int], ...]
    resting: tuple[tuple[str | int | None, int], ...] = ()  # paused senders
    is_cut: bool = False  # not all senders were read


class Repeats(Protocol):
    """Drafts of one request that may have been stored before, in the transaction of the insert."""

    def known(self) -> Mapping[int, str]:
        """Return the ids of the jobs that drafts have become before, by position.

        It may be the id of another draft of the request. Locks: rows that keep other transactions
        from storing the drafts until the end of this one, in one order for all; only a schedule is
        locked before.
        """

    def settle(self, stored: Mapping[int, str | None]) -> None:
        """Store the results of new drafts: a job, or None if it was refused."""


class Extension:
    """Base of all extensions; every hook does nothing."""

    def prepare(self, draft: JobDraft, caller: Caller) -> JobDraft | None:
        """Change, drop (None) or refuse (raise) one draft.

        It runs outside any transaction, without SQL except for values that are new to this process.
        """
        return draft

    def tenant_of(self, headers: Mapping[str, Any]) -> str | None:
        """Return the tenant that a request names in its headers, spelled as in WSGI.

        The request then sees and changes only data of this tenant, like a key bound to it. Raises
        OJSError for invalid headers.
        """
        return None

    def tenant_headers(self) -> Mapping[str, Any]:
        """Return the headers that `tenant_of` reads as parameters of OpenAPI, by component name."""
        return {}

    def wishes(self, headers: Mapping[str, Any]) -> Collection[str]:
        """Return the options in a request's headers, spelled as in WSGI: see `Caller.asks`.

        Raises OJSError for invalid headers.
        """
        return ()

    def repeats(self, drafts: Sequence[JobDraft], caller: Caller) -> Repeats | None:
        """Return an object that finds drafts stored before; None: there can be none.

        Without SQL. Raises OJSError.
        """
        return None

    def refusals(
        self, drafts: Sequence[JobDraft], caller: Caller, terms: int
    ) -> Mapping[int, OJSError]:
        """Return the refusals of drafts by position, and set the `warnings` of other drafts.

        Called before each insert, outside any transaction of its own, and for drafts that are
        enqueued later. `terms` as in `gates`. Runs a statement only for values that are new to this
        process.
        """
        return {}

    def assign(self, drafts: Sequence[JobDraft], terms: int) -> None:
        """Set the version keys of drafts that are just being stored, for a configuration version.

        Called before each insert, after `refusals`; `terms` as in `gates`. If the configuration
        changes meanwhile, the insert is repeated, so set the same version key again where it still
        holds. Runs a statement only for values that are new to this process.
        """

    def gates(self, drafts: Sequence[JobDraft], caller: Caller, terms: int) -> bool:
        """Return whether `admit` must run for these; false keeps enqueue at one statement.

        `terms` is the configuration version that the insert will name. Use configuration of this
        version or a later one; then a change applies from its commit on.
        """
        return False

    def admit(self, drafts: Sequence[JobDraft], caller: Caller) -> None:
        """Lock, count and refuse, once per request, in the transaction of the insert."""

    def hold(self, drafts: Sequence[JobDraft]) -> None:
        """Take the locks of `admit` for all of a request whose parts are admitted one by one."""

    def refused(self, problem: OJSError, caller: Caller) -> None:
        """Report a refusal by `admit`, whose transaction has rolled back."""

    def plan(self, plan: ClaimPlan, request: FetchRequest) -> ClaimPlan:
        """Reorder or narrow a claim; data only, from the extension's own cache.

        A request that names no queues takes the queues of the plan.
        """
        return plan

    def declines(self, jobs: Sequence[Job], request: FetchRequest) -> Collection[str]:
        """Return the ids of claimed jobs that this worker must not get.

        For conditions that a plan cannot express. These jobs are given back uncounted. A claim that
        has no other job is planned anew, so make sure that it does not claim them again.
        """
        return ()

    def declared(self, handlers: Sequence[object], *, is_exclusive: bool) -> Declaration:
        """Return the worker's declaration of its handlers, as it is stored. Raises OJSError.

        It comes back in `FetchRequest.declaration`; the first extension that has the hook decides.
        """
        raise NotImplementedError

    def enlists(self, worker_id: str, pool: str | None) -> None:
        """Refuse a worker that registers and must not work here. Raises OJSError.

        `pool` is the pool that it names with this report. No statement unless the settings require
        one.
        """

    def forget(self) -> None:
        """Invalidate the cached configuration behind `plan`, `weigh`, `ways` and `apart`."""

    def weigh(self, keys: Sequence[LaneKey]) -> Weighed:
        """Return the weights and boosts of lanes that are being made, or whose shares change.

        `forget` is called when the version is not the latest. The first extension that names a
        weight or a boost decides.
        """
        raise NotImplementedError

    def ways(self, queues: Collection[str]) -> tuple[int, Mapping[str, Way]]:
        """Return the queues among `queues` whose sharing policy is not the default.

        With the configuration version, as `weigh` does. Called when lanes are made.
        """
        raise NotImplementedError

    def apart(self, tenants: Collection[str]) -> tuple[int, Collection[str]]:
        """Return the members of `tenants` that have a namespace: only their claims get their jobs.

        With the configuration version, as `weigh` does. Called when lanes are made, or their shares
        change.
        """
        raise NotImplementedError

    def knows(self, tenant: str) -> bool:
        """Return whether a tenant exists: a FETCH may name `tenant:queue`."""
        return False

    def tenant_without(self, scope: str) -> str | None:
        """Return the tenant of a request that names none and needs this scope; None: any tenant."""
        return None

    def explain(self, job: Job, viewer: str | None) -> Sequence[Gate]:
        """Return the gates of this extension that a waiting job meets, open ones too.

        At most two statements. `viewer` is the tenant that the caller is bound to: leave out
        numbers of other tenants. A gate that a claim enforces must use the data that `plan` uses.
        The `route` of the job is the version key of its lane.
        """
        return ()

    def sends(self, job_type: str, *, looked: int) -> Sends | None:
        """Return the jobs of a type that it will store later; None: never any.

        The type is without a version. It takes one statement, by an index that leads to the senders
        of the type, and reads at most `looked` entries of it.
        """
        return None

    def alerts(self) -> Alerts:
        """Return alerts for operators."""
        return Alerts({}, lambda _: ())

    def observe(self, transitions: Sequence[Transition]) -> None:
        """Follow up on `watched` jobs that ended or were revived, in the transaction of the change.

        Called with the jobs' rows locked. Any error that it raises undoes the end of the jobs, too.
        """

    def retains(self, job_ids: Sequence[str]) -> set[str]:
        """Return the `watched`, ended jobs that must not be removed yet.

        Called once per batch, in the transaction that removes the other jobs, with their rows
        locked.
        """
        return set()

    def unread_from(self) -> int | None:
        """Return the stamp behind which it has not read the event record, None: it is no reader.

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
        """Return its loops for `runworker`."""
        return ()

    def metrics(self, label: Label) -> Iterable[Metric]:
        """Return metrics from the database for /metrics: any process answers the same values.

        They read no table that grows with the number of jobs.
        """
        return ()

    def tenant_labels(self) -> TenantLabels | None:
        """Return the labels of tenants in metrics; None: none.

        It must be the same in all processes: counters of a tenant begin when it gets a label.
        """
        return None

    def verbs(self) -> Sequence[Verb]:
        """Return its verbs for `manage.py ojs`."""
        return ()

    def manifest(self) -> Sequence[Facts]:
        """Return its features for the manifest, with capabilities and paths."""
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
    """Call the extensions' hooks for a refusal."""
    for hook in having("refused"):
        hook(problem, caller)


def tenant_labels() -> TenantLabels | None:
    """Return the labels of tenants in metrics, from the first extension that has some."""
    said = (hook() for hook in having("tenant_labels"))
    return next((labels for labels in said if labels is not None), None)


def refusals(drafts: Sequence[JobDraft], caller: Caller, terms: int) -> dict[int, OJSError]:
    """Return the refusals of drafts by position; the first extension that refuses decides."""
    found: dict[int, OJSError] = {}
    for hook in having("refusals"):
        found = {**hook(drafts, caller, terms), **found}
    return found


def sends(job_type: str, *, looked: int) -> list[Sends]:
    """Return the jobs of a type that extensions will store later."""
    said = (hook(job_type, looked=looked) for hook in having("sends"))
    return [one for one in said if one is not None]


def forget() -> None:
    """Invalidate the cached configuration of all extensions."""
    for hook in having("forget"):
        hook()


def declared(handlers: Sequence[object], *, is_exclusive: bool) -> Declaration | None:
    """Return a worker's declaration; None: no extension reads it. Raises OJSError."""
    for hook in having("declared"):
        found: Declaration = hook(handlers, is_exclusive=is_exclusive)
        return found
    return None


def tables() -> tuple[str, ...]:
    """The tables of all extensions."""
    return tuple(name for hook in having("tables") for name in hook())


read_anew(installed, having)
