"""Routes: versions of types, numbered once and known to every process. Spec: job-versioning 8.

A route keeps jobs of other versions out of a lane, so that none that is held waits in front of one
that is not. A new route raises the version of the terms: a claim that follows from older ones hands
nothing out but is planned anew, so that all routes that a store has are known to whoever claims.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from django.db import transaction

from jobs.conf import read_anew
from jobs.domain.claim import ClaimPlan, Declaration, FetchRequest
from jobs.domain.version import Version
from jobs.services import terms
from versioning.conf import conf
from versioning.domain.declaration import ALL, UNVERSIONED, handles
from versioning.domain.errors import TooManyVersions
from versioning.models import Route

Key = tuple[str, Version]


@dataclass(frozen=True, slots=True)
class Routes:
    """All routes as of a version of the terms; `chosen` are those that declarations accept."""

    version: int
    by_id: Mapping[int, Key]
    chosen: dict[Declaration, tuple[int, ...]] = field(default_factory=dict)

    def accepted(self, declaration: Declaration) -> tuple[int, ...]:
        """Return the routes that a declared worker takes, ascending; 0 is always among them."""
        found = self.chosen.get(declaration)
        if found is None:
            worker = handles(declaration)
            found = self.chosen[declaration] = (
                UNVERSIONED,
                *(route for route, key in self.by_id.items() if worker.accepts(*key)),
            )
        return found


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
    accepted = routes.accepted(declaration)
    return _narrowed(claim, routes, accepted)


def _undeclared(claim: ClaimPlan) -> ClaimPlan:
    return _narrowed(claim, known(), (UNVERSIONED,))


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
        rows = Route.objects.order_by("id").values_list("id", "type", "major", "minor")
        by_id = {row[0]: (row[1], Version(*row[2:])) for row in rows}
        found = _Memory.latest = Routes(version, by_id)
    return found


def latest() -> Routes:
    """Return the routes as they are: for who names no version that a claim would check."""
    found = known()
    if found.version != terms.version():
        forget()
        found = known()
    return found


def route_of(job_type: str, version: Version) -> int:
    """Return the route of a version, made where it is new: SQL is only for what is not known here.

    Raises TooManyVersions.
    """
    key = (job_type, version)
    found = _Memory.ids.get(key)
    if found is None:
        found = _find(key) or _make(key)
        # one that was made in a transaction that rolls back was never there
        transaction.on_commit(partial(_Memory.ids.setdefault, key, found), robust=True)
    return found


def _find(key: Key) -> int | None:
    row = Route.objects.filter(type=key[0], major=key[1].major, minor=key[1].minor)
    return row.values_list("id", flat=True).first()


def _make(key: Key) -> int:
    with transaction.atomic():
        terms.change()  # first: whoever makes routes waits for us
        if (found := _find(key)) is not None:
            return found
        if Route.objects.filter(type=key[0]).count() >= conf().max_versions:
            raise TooManyVersions(
                f"type {key[0]} has {conf().max_versions} versions already",
                details={"field": "version", "type": key[0], "limit": conf().max_versions},
            )
        return Route.objects.create(type=key[0], major=key[1].major, minor=key[1].minor).id


def forget() -> None:
    """Read everything anew."""
    _Memory.cache_clear()


read_anew(_Memory, setting="OJS_VERSIONING")
