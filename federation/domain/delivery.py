"""One job on its way: where it is sent next after what became of the last attempt.

Spec: contract 23 §3. Pure: a driver asks `next_attempt`, sends, tells `settle`, until there is an
answer or nothing is left. The rules for what an answer means are here, too.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from federation.domain.breaker import Outcome
from federation.domain.errors import NoHealthyRegion, RegionUnavailable
from federation.domain.meta import GEO_PIN
from federation.domain.routing import Candidate, Decision
from jobs.domain.errors import OJSError

BREAKER_OPEN: Final = "circuit breaker open"
TOO_MANY: Final = 429
UNAVAILABLE: Final = 503
CLIENT_ERROR, SERVER_ERROR = 400, 500


class Fate(StrEnum):
    """What became of one attempt."""

    ANSWERED = "answered"  # 2xx or 4xx: for the caller
    BUSY = "busy"  # 429 or 503: nothing was stored
    NOT_SENT = "not_sent"  # no connection: nothing was stored
    AMBIGUOUS = "ambiguous"  # sent, but it is not known whether it was stored


@dataclass(frozen=True, slots=True)
class Report:
    """The end of an attempt: a status, or why there is none."""

    fate: Fate
    status: int | None = None
    reason: str = ""
    retry_after_s: float = 0.0

    @property
    def outcome(self) -> Outcome:
        """Return what it says to the breaker. Spec: contract 23 §3, §4."""
        if self.status == TOO_MANY:
            return Outcome.NEUTRAL
        return Outcome.SUCCESS if self.fate is Fate.ANSWERED else Outcome.FAILURE


def answered(status: int, retry_after_s: float = 0.0) -> Report:
    """Judge a status. A 5xx that is not 503 may come after the job was stored."""
    reason = f"HTTP {status}"
    if status in {TOO_MANY, UNAVAILABLE}:
        return Report(Fate.BUSY, status, reason, retry_after_s)
    if status >= SERVER_ERROR:
        return Report(Fate.AMBIGUOUS, status, reason)
    if 200 <= status < 300 or status >= CLIENT_ERROR:  # noqa: PLR2004 - as RFC 9110 counts
        return Report(Fate.ANSWERED, status, reason)
    return Report(Fate.NOT_SENT, status, f"{reason}: redirects are not followed")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request to make: to `ask` about `region`, which are the same without a hub between."""

    region: str
    ask: str
    is_repeat: bool = False  # the region may have the job: OJS-Federation-Dedupe says which one
    redirects: int = 0
    failover_reason: str | None = None  # set from the second region on

    @property
    def is_via_hub(self) -> bool:
        """Tell whether the hub is asked to place the job."""
        return self.ask != self.region


@dataclass(frozen=True, slots=True)
class Hop:
    """A failover that was made, for the log. Spec: contract 23 §8."""

    from_region: str
    to_region: str
    reason: str


@dataclass(slots=True)
class Delivery:
    """The way of one job. Not shared between threads."""

    decision: Decision
    attempts: int  # regions at most
    _left: list[Candidate] = field(init=False)
    _now: Attempt | None = None
    _tried: list[tuple[str, Report]] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    _is_repeated: bool = False
    _is_over: bool = False

    def __post_init__(self) -> None:
        """Begin at the best candidate. Raises the decision's refusal."""
        self.decision.target  # noqa: B018 - raises
        self._left = list(self.decision.candidates)

    @property
    def is_pinned(self) -> bool:
        """Tell whether there is one region only."""
        return self.decision.strategy == GEO_PIN

    def next_attempt(self) -> Attempt | None:
        """Return what to send now, None when an answer came or nothing is left."""
        if self._is_over:
            return None
        if self._now is None:
            self._now = self._following()
        return self._now

    @property
    def may_go_on(self) -> bool:
        """Tell whether other regions than those tried could be asked for, by a new decision."""
        is_at_end = not self._is_over and self._now is None and not self._left
        return is_at_end and not self.is_pinned and len(self._regions_tried()) < self.attempts

    @property
    def tried(self) -> frozenset[str]:
        """Regions that the job was sent to in vain, for `decide`'s `excluded`."""
        return frozenset(region for region, _ in self._tried)

    def go_on(self, decision: Decision) -> None:
        """Continue with the candidates of a decision that was made without those `tried`."""
        self._left = [one for one in decision.candidates if one.id not in self.tried]
        self.decision = decision

    def _following(self) -> Attempt | None:
        """Go on to the next candidate, as far as redirects are allowed."""
        limit = 1 if self.is_pinned else self.attempts
        if not self._left or len(self._regions_tried()) >= limit:
            return None
        candidate = self._left.pop(0)
        # where the answer of one region was lost, the next may hear of the job a second time
        is_doubtful = any(report.fate is Fate.AMBIGUOUS for _, report in self._tried)
        reason = None
        if self._tried:
            before, report = self._tried[-1]
            reason = Fate.AMBIGUOUS if is_doubtful else report.reason
            self.hops.append(Hop(before, candidate.id, str(reason)))
        self._is_repeated = False
        return Attempt(
            candidate.id, candidate.via or candidate.id, is_repeat=is_doubtful,
            redirects=len(self.hops), failover_reason=reason and str(reason),
        )  # fmt: skip

    def refused(self) -> None:
        """Note that the breaker let the attempt not pass: the next candidate is due."""
        # the repetition of what may be stored stays in doubt
        fate = Fate.AMBIGUOUS if self._is_repeated else Fate.NOT_SENT
        self._skip(Report(fate, reason=BREAKER_OPEN))

    def settle(self, report: Report) -> None:
        """Note how the attempt ended."""
        if report.fate is Fate.ANSWERED:
            self._is_over = True
        elif report.fate is Fate.AMBIGUOUS and not self._is_repeated:
            # the same region knows whether it has the job, so it is asked first
            self._is_repeated = True
            now = self._current()
            self._now = Attempt(
                now.region, now.ask, is_repeat=True,
                redirects=now.redirects, failover_reason=now.failover_reason,
            )  # fmt: skip
        else:
            doubtful = self._is_repeated
            self._skip(Report(Fate.AMBIGUOUS, report.status, report.reason) if doubtful else report)

    def _skip(self, report: Report) -> None:
        now = self._current()
        self._tried.append((now.region, report))
        if now.is_via_hub:  # it decides itself: to ask it again for another is in vain
            self._left = [one for one in self._left if one.via is None]
        self._now = None

    def _current(self) -> Attempt:
        if self._now is None:
            raise RuntimeError("nothing was sent")
        return self._now

    def _regions_tried(self) -> set[str]:
        return {
            region
            for region, report in self._tried
            if report.fate is not Fate.NOT_SENT or report.reason != BREAKER_OPEN
        }

    def failure(self, retry_in_s: float) -> OJSError:
        """Return the error to answer with when nothing is left. Spec: contract 23 §3."""
        waits = [report.retry_after_s for _, report in self._tried if report.retry_after_s]
        wait = min(waits, default=retry_in_s)
        told = [{"id": region, "reason": report.reason} for region, report in self._tried]
        if self.is_pinned:
            return RegionUnavailable.because(str(told[-1]["id"]), str(told[-1]["reason"]), wait)
        seen = {one["id"] for one in told}
        passed = [one for one in self.decision.passed_over if one.id not in seen]
        told += [{"id": one.id, "reason": one.reason} for one in passed]
        return NoHealthyRegion.because(told, wait)
