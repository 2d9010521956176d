"""The delivery of one job: the next region after the report of the last attempt.

Spec: contract 23.3. Pure: a driver calls `next_attempt`, sends, and calls `record_report`, until a
region answers or no region is left. The module also has the rules for the meaning of answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from federation.domain.breaker import Outcome
from federation.domain.errors import MayBeStored, NoHealthyRegion, RegionUnavailable
from federation.domain.meta import GEO_PIN
from federation.domain.reasons import Reason
from federation.domain.routing import Candidate, Decision

ASKED_BEFORE: Final = "may have stored this job already"
BREAKER_OPEN: Final = Reason.BREAKER_OPEN
TOO_MANY: Final = 429
UNAVAILABLE: Final = 503
CLIENT_ERROR, SERVER_ERROR = 400, 500


class Fate(StrEnum):
    """The result of one attempt."""

    ANSWERED = "answered"  # 2xx or 4xx: for the caller
    BUSY = "busy"  # 429 or 503: nothing was stored
    NOT_SENT = "not_sent"  # no connection: nothing was stored
    AMBIGUOUS = "ambiguous"  # sent; the region may or may not have stored it


@dataclass(frozen=True, slots=True)
class Report:
    """The end of an attempt: a status, or the reason why there is none."""

    fate: Fate
    status: int | None = None
    reason: str = ""
    retry_after_s: float = 0.0
    in_doubt: tuple[str, ...] = ()  # regions that a router reported as in doubt

    @property
    def outcome(self) -> Outcome:
        """The outcome for the breaker. Spec: contract 23.3, 23.4."""
        if self.status == TOO_MANY:
            return Outcome.NEUTRAL
        return Outcome.SUCCESS if self.fate is Fate.ANSWERED else Outcome.FAILURE


def answered(status: int, retry_after_s: float = 0.0) -> Report:
    """Judge a status. A 5xx except 503 may come after the job was stored."""
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
    """A request to `ask` about `region`; the two differ only if a hub is between."""

    region: str
    ask: str
    is_repeat: bool = False  # it may have the job: OJS-Federation-Dedupe
    redirects: int = 0
    failover_reason: str | None = None  # set from the second region on
    in_doubt: tuple[str, ...] = ()  # other regions that may have the job

    @property
    def is_via_hub(self) -> bool:
        """Whether the hub is asked to place the job."""
        return self.ask != self.region


@dataclass(frozen=True, slots=True)
class Hop:
    """A failover that was made, for the log. Spec: contract 23.8."""

    from_region: str
    to_region: str
    reason: str


@dataclass(slots=True)
class Delivery:
    """The delivery of one job. Not shared between threads.

    `in_doubt` are regions that may have the job: their answers were lost, before this delivery or
    during it. They are asked first, and requests to other regions name them. With `is_bound`, a job
    goes to no other region while a region is in doubt.
    """

    decision: Decision
    attempts: int  # bound of regions
    federation_id: str = ""
    in_doubt: tuple[str, ...] = ()
    is_bound: bool = False
    _left: list[Candidate] = field(init=False)
    _now: Attempt | None = None
    _tried: list[tuple[str, Report]] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    _is_repeated: bool = False
    _is_over: bool = False

    def __post_init__(self) -> None:
        """Begin at the best candidate. Raises the decision's refusal."""
        if isinstance(self.decision.refusal, MayBeStored):
            self.decision.refusal.doubting(self.in_doubt, self.federation_id)
        self.decision.target  # noqa: B018 - raises
        self._left = self._allowed(self.decision.candidates)

    def _allowed(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the permitted candidates; regions that may have the job come first."""
        asked_before = [one for one in candidates if one.id in self.in_doubt]
        asked_before.sort(key=lambda one: self.in_doubt.index(one.id))
        first = [replace(one, reason=ASKED_BEFORE) for one in asked_before]
        others = [one for one in candidates if one.id not in self.in_doubt]
        return first if self._is_held else [*first, *others]

    @property
    def _is_held(self) -> bool:
        """Whether only regions in doubt may be asked."""
        return self.is_bound and bool(self.in_doubt) and not self.is_pinned

    @property
    def is_pinned(self) -> bool:
        """Whether the job is pinned to one region."""
        return self.decision.strategy == GEO_PIN

    def next_attempt(self) -> Attempt | None:
        """Return the attempt to make now, None after an answer or without regions."""
        if self._is_over:
            return None
        if self._now is None:
            self._now = self._following()
        return self._now

    @property
    def may_go_on(self) -> bool:
        """Whether a new decision could add regions besides the tried regions."""
        is_at_end = not self._is_over and self._now is None and not self._left
        if not is_at_end or self._is_held:
            return False
        return not self.is_pinned and len(self._regions_tried()) < self.attempts

    @property
    def tried(self) -> frozenset[str]:
        """Regions that were tried without success, for `decide`'s `excluded`."""
        return frozenset(region for region, _ in self._tried)

    def go_on(self, decision: Decision) -> None:
        """Continue with the candidates of a decision that excluded the regions in `tried`."""
        self.decision = decision
        self._left = self._allowed([one for one in decision.candidates if one.id not in self.tried])

    def _following(self) -> Attempt | None:
        """Return the attempt at the next candidate, as far as redirects are allowed."""
        limit = 1 if self.is_pinned else self.attempts
        if not self._left or len(self._regions_tried()) >= limit:
            return None
        candidate = self._left.pop(0)
        others = tuple(one for one in self.in_doubt if one != candidate.id)
        reason = str(Fate.AMBIGUOUS) if others else None
        if self._tried:
            before, report = self._tried[-1]
            reason = reason or report.reason
            self.hops.append(Hop(before, candidate.id, reason))
        self._is_repeated = False
        return Attempt(
            candidate.id, candidate.via or candidate.id, is_repeat=bool(self.in_doubt),
            redirects=len(self.hops), failover_reason=reason, in_doubt=others,
        )  # fmt: skip

    def refused(self) -> None:
        """Record that the breaker refused the attempt: the next candidate is due."""
        # the first attempt may have stored the job, so the refused repetition leaves it in doubt
        fate = Fate.AMBIGUOUS if self._is_repeated else Fate.NOT_SENT
        self._skip(Report(fate, reason=BREAKER_OPEN))

    def record_report(self, report: Report) -> None:
        """Record the end of the attempt."""
        if report.fate is Fate.ANSWERED:
            self._is_over = True
        elif report.fate is Fate.AMBIGUOUS and not self._is_repeated:
            # only the same region can find out whether it has the job, so it is asked first
            self._is_repeated = True
            now = self._current()
            self._now = replace(now, is_repeat=True)
        else:
            self._skip(replace(report, fate=Fate.AMBIGUOUS) if self._is_repeated else report)

    def _skip(self, report: Report) -> None:
        now = self._current()
        self._tried.append((now.region, report))
        self._doubt(now, report)
        if now.is_via_hub:  # the hub decides by itself: a second request to it is useless
            self._left = [one for one in self._left if one.via is None]
        if self._is_held:
            self._left = [one for one in self._left if one.id in self.in_doubt]
        self._now = None

    def _doubt(self, now: Attempt, report: Report) -> None:
        """Record the regions that may have the job."""
        found = report.in_doubt
        if report.fate is Fate.AMBIGUOUS:
            found = (*found, *self.takers(now))
        self.in_doubt = tuple(dict.fromkeys((*self.in_doubt, *found)))

    def takers(self, attempt: Attempt) -> tuple[str, ...]:
        """Return the regions that may have the job after an attempt, its own region first.

        A hub may place it in any region that it reaches, or store it itself.
        """
        if not attempt.is_via_hub:
            return (attempt.region,)
        beyond = (one.id for one in self.decision.candidates if one.via == attempt.ask)
        return tuple(dict.fromkeys((attempt.region, attempt.ask, *beyond)))

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

    def failure(self, retry_in_s: float) -> RegionUnavailable | NoHealthyRegion:
        """Return the error of the delivery when no region is left. Spec: contract 23.3.

        It names the regions that may have the job nevertheless.
        """
        return self._failure(retry_in_s).doubting(self.in_doubt, self.federation_id)

    def _failure(self, retry_in_s: float) -> RegionUnavailable | NoHealthyRegion:
        if self._is_held and not self._tried:
            return RegionUnavailable.because(
                self.in_doubt[0], "it may have stored this job and cannot be reached", retry_in_s
            )
        waits = [report.retry_after_s for _, report in self._tried if report.retry_after_s]
        wait = min(waits, default=retry_in_s)
        reasons = [{"id": region, "reason": report.reason} for region, report in self._tried]
        if self.is_pinned or self._is_held:
            return RegionUnavailable.because(
                str(reasons[-1]["id"]), str(reasons[-1]["reason"]), wait
            )
        seen = {one["id"] for one in reasons}
        passed = [one for one in self.decision.passed_over if one.id not in seen]
        reasons += [{"id": one.id, "reason": one.reason} for one in passed]
        return NoHealthyRegion.because(reasons, wait)
