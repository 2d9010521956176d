"""What processes know about queues when they store a job, and how they notice that it changed.

A process reads the configuration of a queue once. Each enqueue names the version of the terms it
went by, and the statement stores nothing when that is not the latest: a change counts from its
commit on, in every process, and costs the hot path no statement. A queue that is not there has the
terms of the template: it is made by it together with its first job. Spec: contract 10.4.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from jobs import queries
from jobs.domain.envelope import JobDraft
from jobs.domain.errors import BackendUnavailable, InvalidRequest, OJSError, QueuePaused
from jobs.domain.queues import QueueTerms, rate_of, terms_of
from jobs.domain.retry import parse_policy
from jobs.services.lanes.envelopes import limits

T = TypeVar("T")

NOTHING = QueueTerms()
TRIES: Final = 20  # how often something begins anew because the terms have just changed


class Stale(Exception):
    """The terms have changed since this process read them."""


@dataclass(frozen=True, slots=True)
class Terms:
    """One version of the terms; `queues` grows as they are met."""

    version: int
    queues: dict[str, QueueTerms]
    types: Mapping[str, int]  # ids of the limits of types

    def of(self, queue: str) -> QueueTerms:
        """Return the terms of a queue that was asked for."""
        return self.queues.get(queue, NOTHING)


class _Memory:
    """What this process has read; replaced as a whole."""

    latest = Terms(0, {}, {})


def of_queues(names: Iterable[str]) -> Terms:
    """Return terms that know `names`; one statement when some are new to this process."""
    known = _Memory.latest
    missing = sorted(name for name in set(names) if name not in known.queues)
    if not missing:
        return known
    stored = queries.terms(missing)
    unmade = stored.template, False
    read = {name: _read(*stored.queues.get(name, unmade)) for name in missing}
    if stored.version != known.version:
        known = _Memory.latest = Terms(stored.version, read, stored.types)
        return known if set(names) <= read.keys() else of_queues(names)
    known.queues.update(read)
    return known


def _read(config: Mapping[str, Any], is_draining: bool) -> QueueTerms:  # noqa: FBT001 - a row
    """Return NOTHING itself for a queue that says nothing: its drafts are then passed untouched."""
    found = terms_of(config, is_draining=is_draining)
    return NOTHING if found == NOTHING else found


def version() -> int:
    """Return the latest version."""
    return queries.terms(()).version


def hold() -> None:
    """Let changes of the terms follow one another: whoever holds them changes them alone.

    Call it first in the transaction that looks whether something changes.
    """
    queries.hold_terms()


def change() -> None:
    """Make every process read anew what follows from the terms, from the commit on.

    Call it first in the transaction, or `hold` where perhaps nothing changes: every process pays
    for a change.
    """
    queries.raise_terms()


def by_latest(run: Callable[[], T], renew: Callable[[], None] | None = None) -> T:
    """Run what goes by the terms, again by the latest where they have just changed.

    Raises BackendUnavailable when they change all the time: a transaction must not stay open, and
    nobody wait, for as long as they do.
    """
    for _ in range(TRIES):
        try:
            return run()
        except Stale:
            (renew or forget)()
    raise BackendUnavailable("the configuration changes faster than jobs can be stored")


def forget() -> None:
    """Read everything anew."""
    _Memory.latest = Terms(0, {}, {})


def apply(known: Terms, drafts: Sequence[JobDraft]) -> list[JobDraft]:
    """Return drafts with the defaults of their queues.

    Raises QueuePaused for a queue that is being emptied and InvalidRequest for a type that it does
    not take.
    """
    return [
        draft if (terms := known.of(draft.queue)) is NOTHING else _apply(terms, draft, n, drafts)
        for n, draft in enumerate(drafts)
    ]


def _apply(terms: QueueTerms, draft: JobDraft, n: int, drafts: Sequence[JobDraft]) -> JobDraft:
    if terms.is_draining:
        raise _at(n, drafts, QueuePaused(
            f"queue {draft.queue} is being emptied", details={"queue": draft.queue}
        ))  # fmt: skip
    if not terms.allows(draft.type):
        raise _at(n, drafts, InvalidRequest.field(
            "type", f"is not one that queue {draft.queue} takes", draft.type
        ))  # fmt: skip
    draft = replace(
        draft,
        timeout_ms=draft.timeout_ms or terms.timeout_ms,
        visibility_ms=draft.visibility_ms or terms.visibility_ms,
    )
    if terms.default_retry:
        given, attempts = draft.retry_given
        draft.retry = parse_policy(given, terms.retry_base(limits().retry), max_attempts=attempts)
    return draft


def _at(n: int, drafts: Sequence[JobDraft], problem: OJSError) -> OJSError:
    if len(drafts) > 1:
        problem.details["index"] = n
    return problem


def rates(known: Terms, drafts: Sequence[JobDraft]) -> Mapping[str, dict[str, object]]:
    """Return the rates that jobs put on their queues and that differ from what is known."""
    wanted = {
        draft.queue: rate_of(draft.rate_limit.policy)
        for draft in drafts
        if draft.rate_limit and draft.rate_limit.key is None
    }
    return {name: rate for name, rate in wanted.items() if known.of(name).rate_limit != rate}
