"""Authenticate requests by API key or staff session, and check their rights. Spec: contract 31."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from django.http import HttpRequest
from django.utils import timezone

from jobs.api.access.session import staff
from jobs.conf import conf
from jobs.domain.access import keys
from jobs.domain.access.permits import Required
from jobs.domain.errors import PermissionDenied, TenantMismatch, Unauthenticated
from jobs.domain.job import JobKind
from jobs.permits import table
from jobs.services.access.api_keys import CachedKey, cache

CHALLENGE = {"WWW-Authenticate": "Bearer"}
SUBJECT = "ojs.tls_subject"  # of a certificate, set by `transport`: no header can have this name


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller."""

    name: str
    grant: keys.Grant
    is_narrowed: bool = False  # to a tenant, for this request
    holds: Callable[[str], bool] | None = None  # checks a permission of a session; None: a key

    @property
    def tenant(self) -> str | None:
        """The tenant the key is bound to; None: any."""
        return self.grant.tenant

    @property
    def sees_classified(self) -> bool:
        """Whether it may see arguments and results of classified jobs: a key, or by a permit."""
        permit = table().named["jobs.see_classified"]
        return self.holds is None or all(map(self.holds, permit.permissions))

    def require_any_tenant(self, operation: str) -> None:
        """Refuse a key bound to a tenant. Raises PermissionDenied."""
        if self.tenant is not None:
            refusal = self._denied(f"{operation} for all tenants")
            refusal.details["reason"] = "concerns_all_tenants"
            raise refusal

    def within(self, tenant: str) -> "Principal":
        """Return the same principal, bound to one tenant. Raises TenantMismatch."""
        if self.tenant == tenant:
            return self
        if self.tenant is not None:
            refusal = TenantMismatch(
                f"the credentials are bound to another tenant than {tenant}",
                details={"reason": "tenant_mismatch", "tenant_id": tenant},
            )
            refusal.principal = self.name
            raise refusal
        return replace(self, grant=replace(self.grant, tenant=tenant), is_narrowed=True)

    def require_enqueue(self, queues_and_types: Iterable[tuple[str, str]]) -> None:
        """Refuse queues and types the key does not cover. Raises PermissionDenied."""
        for queue, kind in queues_and_types:
            if not keys.allowed(queue, self.grant.queues_enqueue):
                raise self._denied(f"enqueue to queue {queue!r}", queue=queue)
            if not keys.allowed(kind, self.grant.job_types):
                raise self._denied(f"enqueue jobs of type {kind!r}", queue=queue)

    def may_fetch(self, queue: str) -> bool:
        """Return whether the key covers a queue."""
        return keys.allowed(queue, self.grant.queues_fetch)

    def may_handle(self, kind: str) -> bool:
        """Return whether the key covers a job type."""
        return keys.allowed(kind, self.grant.job_types)

    @property
    def is_limited(self) -> bool:
        """Whether the key covers only some queues or job types."""
        grant = self.grant
        return bool(grant.queues_enqueue or grant.queues_fetch or grant.job_types)

    @property
    def is_limited_worker(self) -> bool:
        """Whether the key may answer only for jobs of some queues or job types."""
        return bool(self.grant.queues_fetch or self.grant.job_types)

    def require_jobs(self, operation: str, jobs: Iterable[JobKind]) -> None:
        """Refuse to change jobs that the key does not cover. Raises PermissionDenied.

        It covers the queues that it enqueues to or fetches from, and the types it is limited to.
        """
        queues = self.grant.queues_enqueue + self.grant.queues_fetch
        for job in jobs:
            if not keys.allowed(job.queue, queues):
                raise self._denied(f"{operation} in queue {job.queue!r}", queue=job.queue)
            if job.type is None and self.grant.job_types:
                raise self._denied(f"{operation} of all types", queue=job.queue)
            if job.type is not None and not self.may_handle(job.type):
                raise self._denied(f"{operation} of type {job.type!r}", queue=job.queue)

    def require_queues(self, operation: str, queues: Iterable[str]) -> None:
        """Refuse a change that affects all jobs of queues. Raises as `require_jobs`."""
        self.require_jobs(operation, (JobKind(queue, None) for queue in queues))

    def require_unlimited(self, operation: str) -> None:
        """Refuse a limited key an operation on all queues. Raises PermissionDenied."""
        if self.is_limited:
            raise self._denied(f"{operation} in all queues")

    def answer_refusal(self, job: JobKind) -> PermissionDenied | None:
        """Return why the key may not answer for a job; None: it may."""
        if not self.may_fetch(job.queue):
            return self._denied(f"fetch from queue {job.queue!r}", queue=job.queue)
        if job.type is not None and not self.may_handle(job.type):
            return self._denied(f"answer for jobs of type {job.type!r}", queue=job.queue)
        return None

    def require_fetch(self, queues: Iterable[str]) -> None:
        """Refuse queues the key does not cover. Raises PermissionDenied."""
        for queue in queues:
            if refusal := self.answer_refusal(JobKind(queue, None)):
                raise refusal

    def require_handlers(self, types: Iterable[str], *, is_exclusive: bool) -> None:
        """Refuse a FETCH that may hand out types the key does not cover. Raises PermissionDenied.

        A key that is limited to job types fetches for handlers of these types, exclusively.
        """
        if not self.grant.job_types:
            return
        if not is_exclusive:
            raise self._denied("fetch without handlers_exclusive")
        for kind in types:
            if not self.may_handle(kind):
                raise self._denied(f"fetch jobs of type {kind!r}")

    def pool(self, named: str | None) -> str | None:
        """Return the pool of a worker that names one, or none. Raises PermissionDenied."""
        bound = self.grant.pool
        if bound is not None and named not in {None, bound}:
            raise self._denied(f"work in pool {named!r}")
        return named if bound is None else bound

    def require_region(self, region: str, field: str) -> None:
        """Refuse to act for another region than the key's, which `field` names.

        Raises PermissionDenied.
        """
        bound = self.grant.region
        if bound is not None and region != bound:
            refusal = self._denied(f"act for region {region[:64]!r}")
            refusal.details |= {"field": field, "region": bound}
            raise refusal

    def require(self, wanted: Required) -> None:
        """Refuse a key without the scope, and a user without a permission.

        Raises PermissionDenied.
        """
        if self.holds is None:
            if wanted.scope not in self.grant.scopes:
                raise self._denied(str(wanted.scope))
            return
        for permission in wanted.permit.permissions:
            if not self.holds(permission):
                refusal = self._denied(wanted.operation)
                refusal.details["permission"] = permission
                raise refusal

    def _denied(self, operation: str, *, queue: str | None = None) -> PermissionDenied:
        details = {"operation": operation} | ({"queue": queue} if queue else {})
        refusal = PermissionDenied(f"the credentials do not allow: {operation}", details=details)
        refusal.principal = self.name
        return refusal


OPEN = Principal("anonymous", keys.Grant(keys.SCOPES))


def authenticate(request: HttpRequest, wanted: Required) -> Principal:
    """Return the principal of a request for an operation.

    Raises Unauthenticated or PermissionDenied. No statement while the key is cached.
    """
    if wanted.scope is None or conf().auth == "off":
        return OPEN
    key = _key(request)
    principal = _of_key(key) if key is not None else _certified(request) or _session(request)
    principal.require(wanted)
    return principal


def _key(request: HttpRequest) -> str | None:
    header = str(request.META.get("HTTP_AUTHORIZATION", ""))
    kind, _, text = header.partition(" ")
    if kind.lower() == "bearer":
        return text.strip()
    key = request.META.get("HTTP_X_API_KEY")
    return str(key).strip() if key else None


def _session(request: HttpRequest) -> Principal:
    member = staff(request)
    if member is None:
        raise Unauthenticated("an API key is required", headers=CHALLENGE)
    return Principal(member.name, keys.Grant(frozenset(), member.tenant), holds=member.holds)


def _certified(request: HttpRequest) -> Principal | None:
    """Return the principal of the certificate, None without one. Raises Unauthenticated."""
    subject = request.META.get(SUBJECT)
    if not subject:
        return None
    key = cache.of_subject(subject)
    if key is None:
        raise Unauthenticated("the certificate belongs to no API key", headers=CHALLENGE)
    return _still(key, timezone.now())


def _of_key(text: str) -> Principal:
    parts = keys.split(text)
    key = cache.get(parts[0]) if parts else None
    now = timezone.now()
    if parts is None or key is None or not key.is_opened_by(parts[1], now):
        raise Unauthenticated("the API key is not valid", headers=CHALLENGE)
    return _still(key, now)


def _still(key: CachedKey, now: datetime) -> Principal:
    """Return the principal of a key. Raises Unauthenticated when it has ended."""
    if key.why_not:
        raise _ended(key.why_not, "the API key was revoked")
    if key.expires_at and key.expires_at <= now:
        raise _ended("token_expired", "the API key has expired")
    return Principal(key.name, key.grant)


def _ended(reason: str, message: str) -> Unauthenticated:
    return Unauthenticated(message, details={"reason": reason}, headers=CHALLENGE)
