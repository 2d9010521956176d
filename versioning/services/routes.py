"""Version keys: numbers for versions of types, cached by every process. Spec: job-versioning 8.

A version key separates jobs of different versions into lanes, so no held job waits before a job
that can run. A new version key raises the configuration version. A claim with an older version
hands out nothing and is planned again, so every claim sees all stored version keys.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from jobs import caches
from jobs.caches import VersionedCache
from jobs.conf import read_anew
from jobs.database import atomic, on_commit
from jobs.domain.dispatch.claim import ClaimPlan, Declaration, FetchRequest
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.wire.version import Version, parse_version, split_type
from jobs.services.lanes import configuration
from versioning.conf import conf
from versioning.domain.canary import Key, Rules, admits
from versioning.domain.declaration import ALL, UNVERSIONED, handles
from versioning.domain.errors import TooManyVersions
from versioning.models import Fallback, Route
from versioning.services import rule_cache
from versioning.services.rule_cache import Parted

TARGETS = 10  # factor for drawn version keys: each version may be sent to several targets

Fallen = frozenset[int]  # version keys in fallback: their jobs follow their own versions for now


@dataclass(frozen=True, slots=True)
class Routes:
    """All version keys and rules as of a configuration version.

    `chosen` caches the accepted version keys of declarations.
    """

    version: int
    by_id: Mapping[int, Key]
    rules: Mapping[str, Rules] = field(default_factory=dict)
    fallen: Mapping[str, Fallen] = field(default_factory=dict)  # by queue
    split_types: Mapping[str, Parted] = field(default_factory=dict)
    chosen: dict[tuple[Declaration, Fallen], tuple[int, ...]] = field(default_factory=dict)

    def accepted(self, declaration: Declaration, queues: Collection[str] = ()) -> tuple[int, ...]:
        """Return the version keys that a worker with this declaration takes, ascending."""
        fallen = self.fallen_in(queues)
        found = self.chosen.get((declaration, fallen))
        if found is None:
            found = self.chosen[declaration, fallen] = (
                *((UNVERSIONED,) if self.takes_rest(declaration) else ()),
                *(route for route in self.by_id if self.admits(declaration, route, fallen)),
            )
        return found

    def takes_rest(self, declaration: Declaration) -> bool:
        """Return whether a worker takes version key 0: unversioned jobs of types not split.

        It does so only after all jobs that it refuses are moved out. A worker that takes only types
        that it names never does, since these types are split.
        """
        worker = handles(declaration)
        if worker.is_exclusive:
            return False
        return all(
            one in self.split_types and self.split_types[one].is_done
            for one in worker.versioned_only
        )

    def admits(self, declaration: Declaration, route: int, fallen: Fallen = frozenset()) -> bool:
        """Return whether a worker with this declaration gets the jobs of a version key."""
        key = self.by_id[route]
        rules = self.rules.get(key.type)
        return admits(handles(declaration), key, rules, has_fallen_back=route in fallen)

    def fallen_in(self, queues: Collection[str]) -> Fallen:
        """Return the version keys that are in fallback in one of these queues."""
        if not self.fallen:
            return frozenset()
        return frozenset().union(*(self.fallen.get(queue, frozenset()) for queue in queues))


class _Ids:
    """The version keys by their content; a stored version key never changes."""

    by_key: dict[Key, int] = {}

    @classmethod
    def cache_clear(cls) -> None:
        """Clear the cache."""
        cls.by_key = {}


def plan(claim: ClaimPlan, request: FetchRequest) -> ClaimPlan:
    """Narrow a claim to the version keys that its worker accepts; without a declaration, all.

    The plan names the version keys even if it accepts all, since one may be added during the claim.
    """
    declaration = request.declaration
    if declaration is None or handles(declaration) is ALL:
        return _undeclared(claim) if conf().require_declaration else claim
    routes = current()
    accepted = routes.accepted(declaration, claim.queues)
    return _narrowed(claim, routes, accepted)


def _undeclared(claim: ClaimPlan) -> ClaimPlan:
    routes = current()
    bare = sorted(one.route for one in routes.split_types.values())
    return _narrowed(claim, routes, (UNVERSIONED, *bare))


def _narrowed(claim: ClaimPlan, routes: Routes, accepted: tuple[int, ...]) -> ClaimPlan:
    older = (
        routes.version
        if claim.config_version is None
        else min(claim.config_version, routes.version)
    )
    refuses = len(accepted) <= len(routes.by_id)
    return replace(claim, version_keys=accepted, leaves_out_versions=refuses, config_version=older)


def current() -> Routes:
    """Return the version keys as this process last read them."""
    return cache.latest or cache.current()


def load(_: int | None) -> Routes:
    """Read all version keys."""
    # the version first: version keys added meanwhile are then unknown, but never assumed absent
    version = configuration.version()
    rows = Route.objects.order_by("id")
    by_id = {row.id: key_of(row) for row in rows}
    _, rules, split_types = rule_cache.cache.current(version)
    fallen = _fallen() if rules else {}
    return Routes(version, by_id, rules, fallen, split_types)


def key_of(row: Route) -> Key:
    """Return the content of a stored version key."""
    return Key(row.type, _version(row.major, row.minor), _version(row.to_major, row.to_minor))


def _version(major: int | None, minor: int | None) -> Version | None:
    return None if major is None or minor is None else Version(major, minor)


def _fallen() -> dict[str, Fallen]:
    found: dict[str, set[int]] = {}
    for route, queue in Fallback.objects.values_list("route", "queue"):
        found.setdefault(queue, set()).add(route)
    return {queue: frozenset(routes) for queue, routes in found.items()}


def latest() -> Routes:
    """Return the latest version keys, for callers whose version no claim would check."""
    return as_of(configuration.version())


def as_of(version: int) -> Routes:
    """Return the version keys as of a configuration version or a later version."""
    return cache.current(version)


def route_of(job_type: str, version: Version | None, target: Version | None = None) -> int:
    """Return the version key of a version; create it if it is new.

    SQL runs only if this process has not cached it. `target` is the version that rules drew. Raises
    TooManyVersions.
    """
    if version is None and target is None:
        return UNVERSIONED
    key = Key(job_type, version, target)
    found = _Ids.by_key.get(key)
    if found is None:
        found = _find(key) or _make(key)
        # a version key created in a transaction that rolls back must not enter the cache
        on_commit(partial(_Ids.by_key.setdefault, key, found), robust=True)
    return found


def assign(drafts: Sequence[JobDraft], version: int) -> None:
    """Set the version keys of drafts as their rules draw them, as of a configuration version.

    Unversioned jobs of a split type get the version key of the type. No statement except for types
    and versions that are new to this process. Spec: contract 22.4.
    """
    _, rules, split_types = rule_cache.cache.current(version)
    if not rules and not split_types:
        return
    for draft in drafts:
        base, _ = split_type(draft.type)
        found = rules.get(base)
        if found is not None:
            own = None if draft.version is None else parse_version(draft.version)
            draft.route = route_of(base, own, found.assigned(draft.id, own))
        elif draft.version is None and base in split_types:
            draft.route = split_types[base].route


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
    with atomic():
        configuration.hold()  # first: processes that create version keys wait for this lock
        if (found := _find(key)) is not None:
            return found
        _refuse_too_many(key)
        configuration.change()
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


def clear() -> None:
    """Clear the cached version keys and rules."""
    cache.clear()
    _Ids.cache_clear()
    rule_cache.cache.clear()


cache = VersionedCache(load, setting="OJS_VERSIONING")
caches.register(_Ids.cache_clear)
read_anew(_Ids, setting="OJS_VERSIONING")
