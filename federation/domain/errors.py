"""The errors that only this app raises. Spec: contract 23.2, 23.3."""

from collections.abc import Sequence
from math import ceil
from typing import Any, ClassVar, Self

from federation.domain.reasons import Reason
from jobs.domain.errors import OJSError, Unprocessable


class FederationConfigError(Unprocessable):
    """A member of the configuration breaks a rule; `details.field` names it."""

    hint = "correct the configuration; docs/federation.md lists its members"
    reason: ClassVar[Reason] = Reason.MISCONFIGURED  # for a call that is not made


class RefusedAddress(FederationConfigError):
    """No region may have this address."""

    reason = Reason.NOT_ALLOWED


class UnreadableSecret(FederationConfigError):
    """A reference in the settings leads to no secret. The message names the reference."""

    reason = Reason.UNREADABLE


class MissingSecret(FederationConfigError):
    """The registry has no secret to send."""

    reason = Reason.NOT_SET


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


class MayBeStored:
    """A refusal after which a region may have the job nevertheless: its answer was lost.

    A caller who repeats the enqueue sends the same federation id and the regions in doubt:
    `NewJob.in_doubt`, or `ojs.federation.in_doubt` in `meta`. So it becomes one job.
    """

    message: str
    details: dict[str, Any]
    extra: dict[str, Any]

    @property
    def in_doubt(self) -> tuple[str, ...]:
        """Regions that may have the job; empty when it is stored nowhere."""
        return tuple(self.details.get("in_doubt", ()))

    @property
    def federation_id(self) -> str | None:
        """The federation id to repeat; None when no region is in doubt."""
        return self.details.get("federation_id")

    def doubting(self, regions: Sequence[str], federation_id: str) -> Self:
        """Add the regions that may have the job."""
        if regions:
            self.details |= {"in_doubt": list(regions), "federation_id": federation_id}
            self.message += f"; in doubt: {', '.join(regions[:8])} may have stored it"
            self.extra["hint"] = "send the job again with its federation_id and in_doubt in meta"
        return self


class RegionUnavailable(MayBeStored, OJSError):
    code, status, type, retryable = "federation_region_unavailable", 503, "backend_error", True
    hint = "wait for the time in Retry-After; a pinned job is never sent elsewhere"

    @classmethod
    def because(cls, region: str, reason: str, retry_after_s: float) -> Self:
        """Refuse for the time being; Retry-After is in whole seconds, at least 1."""
        return cls(
            f"region '{region}' is temporarily unavailable: {reason}",
            details={"region": region, "reason": reason},
            headers=_retry_after(retry_after_s),
        )


class NoHealthyRegion(MayBeStored, OJSError):
    code, status, type, retryable = "federation_no_healthy_region", 503, "backend_error", True
    hint = "wait for the time in Retry-After"

    @classmethod
    def because(cls, regions: list[dict[str, Any]], retry_after_s: float) -> Self:
        """Refuse for the time being, with `id` and `reason` of each region."""
        reasons = "; ".join(f"{one['id']}: {one['reason']}" for one in regions[:8])
        return cls(
            f"no region can take the job ({reasons})",
            details={"regions": regions},
            headers=_retry_after(retry_after_s),
        )


def _retry_after(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, ceil(seconds)))}
