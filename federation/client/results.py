"""Results of the client, and its exceptions besides the refusals of the router."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from federation.domain.exchange import Reply
from jobs.domain.errors import OJSError


class RegionRefused(Exception):
    """A region answered with a 4xx: the job is invalid there, as in any other region.

    `code`, `message` and `details` are from the region's answer; `answer` is the whole answer.
    """

    def __init__(self, region: str, reply: Reply) -> None:
        """Read an answer of any shape."""
        body = reply.body if isinstance(reply.body, dict) else {}
        error = body.get("error") if isinstance(body.get("error"), dict) else {}
        self.region, self.status, self.answer = region, reply.status, reply.body
        self.code = str((error or {}).get("code", "unknown"))
        self.message = str((error or {}).get("message", f"HTTP {reply.status}"))
        self.details = (error or {}).get("details") or {}
        self.headers = dict(reply.headers)
        super().__init__(f"region '{region}' refused with {reply.status}: {self.message}")


class UnexpectedAnswer(Exception):
    """A region answered with success, but without a job."""

    def __init__(self, region: str, status: int) -> None:
        """Name the region."""
        super().__init__(f"region '{region}' answered HTTP {status} without a job")
        self.region, self.status = region, status


Refusal = OJSError | RegionRefused | UnexpectedAnswer


@dataclass(frozen=True, slots=True)
class Enqueued:
    """A job that a region has stored."""

    region: str
    job_id: str
    federation_id: str
    strategy: str
    redirects: int  # regions that were tried before
    is_duplicate: bool  # it was stored before, under the same federation id
    job: Mapping[str, Any]  # as the region answered


@dataclass(frozen=True, slots=True)
class Refused:
    """A job of a batch that no region is certain to have stored."""

    federation_id: str | None
    error: Refusal


@dataclass(frozen=True, slots=True)
class BatchResult:
    """One entry for each job, in their order."""

    results: Sequence[Enqueued | Refused]

    @property
    def enqueued(self) -> list[Enqueued]:
        """Jobs that were stored."""
        return [one for one in self.results if isinstance(one, Enqueued)]

    @property
    def failed(self) -> list[Refused]:
        """Jobs that were not stored."""
        return [one for one in self.results if isinstance(one, Refused)]


@dataclass(frozen=True, slots=True)
class Located:
    """A job and the region that has it."""

    region: str
    job: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FederationHealth:
    """The whole: `healthy` when all regions are, `unhealthy` when none is, else `degraded`."""

    status: str
    healthy_regions: int
    total_regions: int
