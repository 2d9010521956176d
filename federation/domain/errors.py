"""What only this app refuses. Spec: contract 23 §2, §3."""

from math import ceil
from typing import Any, Self

from jobs.domain.errors import OJSError, Unprocessable


class FederationConfigError(Unprocessable):
    """A member of the configuration breaks a rule; `details.field` names it."""

    hint = "correct the configuration; docs/federation.md lists its members"


class InvalidFederationMeta(Unprocessable):
    """A key of `meta` that the router reads breaks a rule; `details.field` names it."""

    hint = "correct the ojs.federation keys of meta"


class NotFederated(OJSError):
    code, status, type = "federation_not_configured", 409, "conflict"
    hint = "configure the federation: PUT /ojs/v1/admin/federation/config"


class RegionRequired(Unprocessable):
    code = "federation_region_required"
    hint = "name the region in meta as ojs.federation.region"


class UnknownRegion(Unprocessable):
    code = "federation_unknown_region"
    hint = "name a registered region: GET /ojs/v1/federation/regions"

    @classmethod
    def named(cls, region: str) -> Self:
        """Refuse a region that the registry does not have."""
        return cls(f"region '{region[:64]}' is not registered", details={"region": region[:64]})


class RegionUnavailable(OJSError):
    code, status, type, retryable = "federation_region_unavailable", 503, "backend_error", True
    hint = "wait as long as Retry-After says; a pinned job is never sent elsewhere"

    @classmethod
    def because(cls, region: str, reason: str, retry_after_s: float) -> Self:
        """Refuse for the time being; Retry-After is in whole seconds, at least one."""
        return cls(
            f"region '{region}' is temporarily unavailable: {reason}",
            details={"region": region, "reason": reason},
            headers=_retry_after(retry_after_s),
        )


class NoHealthyRegion(OJSError):
    code, status, type, retryable = "federation_no_healthy_region", 503, "backend_error", True
    hint = "wait as long as Retry-After says"

    @classmethod
    def because(cls, regions: list[dict[str, Any]], retry_after_s: float) -> Self:
        """Refuse for the time being, telling of each region (`id`, `reason`) why not."""
        told = "; ".join(f"{one['id']}: {one['reason']}" for one in regions[:8])
        return cls(
            f"no region can take the job ({told})",
            details={"regions": regions},
            headers=_retry_after(retry_after_s),
        )


def _retry_after(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, ceil(seconds)))}
