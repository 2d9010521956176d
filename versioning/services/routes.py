"""Routes: versions of types, numbered once and known to every process. Spec: job-versioning 8.

A route keeps jobs of other versions out of a lane, so that none that is held waits in front of one
that is not. A new route raises the version of the terms: a claim that follows from older ones hands
nothing out but is planned anew, so that all routes that a store has are known to whoever claims.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from django.db import transaction

from jobs.conf import read_anew
from jobs.domain.claim import ClaimPlan, Declaration, FetchRequest
from jobs.domain.envelope import JobDraft
from jobs.domain.version import Version, parse_version, split_type
from jobs.services.lanes import terms
from versioning.conf import conf
from versioning.domain.canary import Key, Rules, admits
from versioning.domain.declaration import ALL, UNVERSIONED, handles
from versioning.domain.errors import TooManyVersions
from versioning.models import Fallback, Route
from versioning.services import rule_cache
from versioning.services.rule_cache import Parted

TARGETS = 10  # times as many routes as versions: each may be sent to several others

Fallen = frozenset[int]  # routes whose jobs go by their own versions for now


@dataclass(frozen=True, slots=True)
class Routes:
    """All routes and rules as of a version of the terms; `chosen` is what declarations accept."""

    version: int
    by_id: Mapping[int, Key]
    rules: Mapping[str, Rules] = field(default_factory=dict)
    fallen: Mapping[str, Fallen] = field(default_factory=dict)  # by queue
    apart: Mapping[str, Parted] = field(default_factory=dict)
    chosen: dict[tuple[Declaration, Fallen], tuple[int, ...]] = field(default_factory=dict)

    def accepted(self, declaration: Declaration, queues: Collection[str] = ()) -> tuple[int, ...]:
        """Return the routes that a declared worker takes, ascending."""
        fallen = self.fallen_in(queues)
        found = self.chosen.get((declaration, fallen))
        if found is None:
            found = self.chosen[declaration, fallen] = (
                *((UNVERSIONED,) if self.takes_rest(declaration) else ()),
                *(route for route in self.by_id if self.admits(declaration, route, fallen)),
            )
        return found

    def takes_rest(self, declaration: Declaration) -> bool:
        """Tell whether a worker takes route 0: jobs without a version of all types not told apart.

        Not before those that it refuses are all out of there, and never if it takes only types that
        it names: these have routes of their own.
        """
        worker = handles(declaration)
        if worker.is_exclusive:
            return False
        return all(one in self.apart and self.apart[one].is_done for one in worker.versioned_only)

    def admits(self, declaration: Declaration, route: int, fallen: Fallen = frozenset()) -> bool:
        """Tell whether a worker that declared this is handed the jobs of a route."""
        key = self.by_id[route]
        rules = self.rules.get(key.type)
        return admits(handles(declaration), key, rules, has_fallen_back=route in fallen)

    def fallen_in(self, queues: Collection[str]) -> Fallen:
        """Return the routes that have fallen back in one of these queues."""
        if not self.fallen:
            return frozenset()
        return frozenset().union(*(self.fallen.get(queue, frozenset()) for queue in queues))


class _Memory:
    """What this process has read."""

    latest: Routes | None = None
    ids: dict[Key, int] = {}

    @classmethod
    def cache_clear(cls) -> None:
        """Read everything anew."""
        cls.latest, cls.ids = None, {}


def plan(claim: ClaimPlan, request: FetchRequest) -> ClaimPlan:
    """Narrow a claim to the routes that its worker accepts; those that declare nothing take all.

    The routes are named even if they are all there are: one may be added while the claim runs.
    """
    declaration = request.declaration
    if declaration is None or handles(declaration) is ALL:
        return _undeclared(claim) if conf().require_declaration else claim
    routes = known()
    accepted = routes.accepted(declaration, claim.queues)
    return _narrowed(claim, routes, accepted)


def _undeclared(claim: ClaimPlan) -> ClaimPlan:
    routes = known()
    bare = sorted(one.route for one in routes.apart.values())
    return _narrowed(claim, routes, (UNVERSIONED, *bare))


def _narrowed(claim: ClaimPlan, routes: Routes, accepted: tuple[int, ...]) -> ClaimPlan:
    older = routes.version if claim.terms is None else min(claim.terms, routes.version)
    refuses = len(accepted) <= len(routes.by_id)
    return replace(claim, routes=accepted, refuses=refuses, terms=older)


def known() -> Routes:
    """Return the routes as this process last read them."""
    found = _Memory.latest
    if found is None:
        # the version first: what is added meanwhile is then not known yet, but never thought absent
        version = terms.version()
        rows = Route.objects.order_by("id")
        by_id = {row.id: key_of(row) for row in rows}
        _, rules, apart = rule_cache.known(version)
        fallen = _fallen() if rules else {}
        found = _Memory.latest = Routes(version, by_id, rules, fallen, apart)
    return found


def key_of(row: Route) -> Key:
    """Return what a stored route is of."""
    return Key(row.type, _version(row.major, row.minor), _version(row.to_major, row.to_minor))


def _version(major: int | None, minor: int | None) -> Version | None:
    return None if major is None or minor is None else Version(major, minor)


def _fallen() -> dict[str, Fallen]:
    found: dict[str, set[int]] = {}
    for route, queue in Fallback.objects.values_list("route", "queue"):
        found.setdefault(queue, set()).add(route)
    return {queue: frozenset(routes) for queue, routes in found.items()}


def latest() -> Routes:
    """Return the routes as they are: for who names no version that a claim would check."""
    return as_of(terms.version())


def as_of(version: int) -> Routes:
    """Return the routes as of a version of the terms or a later one."""
    found = known()
    if found.version < version:
        forget()
        found = known()
    return found


def route_of(job_type: str, version: Version | None, target: Version | None = None) -> int:
    """Return the route of a version, made where it is new: SQL is only for what is not known here.

    `target` is the version that rules sent the job to. Raises TooManyVersions.
    """
    if version is None and target is None:
        return UNVERSIONED
    key = Key(job_type, version, target)
    found = _Memory.ids.get(key)
    if found is None:
        found = _find(key) or _make(key)
        # one that was made in a transaction that rolls back was never there
        transaction.on_commit(partial(_Memory.ids.setdefault, key, found), robust=True)
    return found


def assign(drafts: Sequence[JobDraft], version: int) -> None:
    """Send jobs where rules of their types draw them, as of a version of the terms.

    Those without a version go to the route of their type where it is told apart.

    No statement but for what this process meets for the first time. Spec: contract 22.4.
    """
    _, rules, apart = rule_cache.known(version)
    if not rules and not apart:
        return
    for draft in drafts:
        base, _ = split_type(draft.type)
        found = rules.get(base)
        if found is not None:
            own = None if draft.version is None else parse_version(draft.version)
            draft.route = route_of(base, own, found.assigned(draft.id, own))
        elif draft.version is None and base in apart:
            draft.route = apart[base].route


def _columns(key: Key) -> dict[str, int | str | None]:
    own, target = key.version or (None, None), key.target or (None, None)
    return {
        "type": key.type, "major": own[0], "minor": own[1],
        "to_major": target[0], "to_minor": target[1],
    }  # fmt: skip


def _find(key: Key) -> int | None:
    columns = _columns(key)
    given = {name: value for name, value in columns.items() if value is not None}
    absent = {f"{name}__isnull": True for name, value in columns.items() if value is None}
    return Route.objects.filter(**given, **absent).values_list("id", flat=True).first()


def _make(key: Key) -> int:
    with transaction.atomic():
        terms.hold()  # first: whoever makes routes waits for us
        if (found := _find(key)) is not None:
            return found
        _refuse_too_many(key)
        terms.change()
        return Route.objects.create(**_columns(key)).id


def _refuse_too_many(key: Key) -> None:
    most = conf().max_versions
    of_type = Route.objects.filter(type=key.type)
    if key.target is None:
        is_full = of_type.filter(to_major__isnull=True).count() >= most
    else:
        is_full = of_type.filter(to_major__isnull=False).count() >= most * TARGETS
    if is_full:
        raise TooManyVersions(
            f"type {key.type} has {most} versions already",
            details={"field": "version", "type": key.type, "limit": most},
        )


def forget() -> None:
    """Read everything anew."""
    _Memory.cache_clear()
    rule_cache.forget()


read_anew(_Memory, setting="OJS_VERSIONING")
