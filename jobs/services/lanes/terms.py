"""Cache the configuration of queues for enqueues, and notice when it changed.

A process reads the configuration of a queue once. Each enqueue names the configuration version that
it used, and the statement stores nothing when this version is not the latest. So a change applies
from its commit on, in every process, and costs the hot path no statement. A queue that does not
exist has the configuration of the template: its first job makes it. Spec: contract 10.4.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from jobs import queries
from jobs.caches import VersionedCache
from jobs.domain.draft import JobDraft
from jobs.domain.errors import BackendUnavailable, InvalidRequest, OJSError, QueuePaused
from jobs.domain.queues import QueueTerms, rate_of, terms_of
from jobs.domain.retry import parse_policy
from jobs.services.lanes.envelopes import limits

T = TypeVar("T")

NOTHING = QueueTerms()
TRIES: Final = 20  # how often work begins anew because the configuration has just changed


class Stale(Exception):
    """The configuration has changed since this process read it."""


@dataclass(frozen=True, slots=True)
class Terms:
    """One configuration version; `queues` grows as queues are used."""

    version: int
    queues: dict[str, QueueTerms]
    types: Mapping[str, int]  # ids of the limits of types

    def of(self, queue: str) -> QueueTerms:
        """Return the configuration of a queue that was read."""
        return self.queues.get(queue, NOTHING)


def of_queues(names: Iterable[str]) -> Terms:
    """Return the configuration with `names`; one statement if a name is new to this process."""
    known = cache.latest or cache.cached() or Terms(0, {}, {})
    wanted = set(names)
    missing = [name for name in wanted if name not in known.queues]
    return _with(known, missing, wanted) if missing else known


def _with(known: Terms, missing: Collection[str], wanted: Collection[str]) -> Terms:
    since = cache.clears
    found = load(missing)
    if found.version == known.version:
        known.queues.update(found.queues)
        if len(known.queues) > cache.most:
            cache.clear()
        return known
    if len(missing) < len(wanted):
        found = load(wanted)  # the other queues are of an older version
    cache.share(found, since)
    return found


def load(names: Collection[str]) -> Terms:
    """Read the configuration of queues in one statement."""
    stored = queries.terms(sorted(names))
    unmade = stored.template, False
    read = {name: _read(*stored.queues.get(name, unmade)) for name in names}
    return Terms(stored.version, read, stored.types)


def _read(config: Mapping[str, Any], is_draining: bool) -> QueueTerms:  # noqa: FBT001 - a row
    """Return NOTHING itself for an empty configuration: its drafts pass unchanged."""
    found = terms_of(config, is_draining=is_draining)
    return NOTHING if found == NOTHING else found


def version() -> int:
    """Return the latest configuration version."""
    return queries.terms(()).version


def hold() -> None:
    """Serialize changes of the configuration: only the transaction with this lock makes them.

    Call it first in a transaction that reads whether the configuration changes.
    """
    queries.hold_terms()


def change() -> None:
    """Raise the configuration version: every process reads anew after the commit.

    Call it first in the transaction. Call `hold` instead if the configuration may stay the same:
    every process pays for a change.
    """
    queries.raise_terms()


def by_latest(run: Callable[[], T], renew: Callable[[], None] | None = None) -> T:
    """Run code that depends on the configuration; repeat it if the version was stale.

    Raises BackendUnavailable after too many changes: a transaction must not stay open, nor a
    request wait, as long as they go on.
    """
    for _ in range(TRIES):
        try:
            return run()
        except Stale:
            (renew or cache.clear)()
    raise BackendUnavailable("the configuration changes faster than jobs can be stored")


def apply(known: Terms, drafts: Sequence[JobDraft]) -> list[JobDraft]:
    """Return drafts with the defaults of their queues.

    Raises QueuePaused for a queue that is being emptied, and InvalidRequest for a type that the
    queue does not accept.
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
    """Return the rate limits that jobs set on their queues and that differ from the cache."""
    wanted = {
        draft.queue: rate_of(draft.rate_limit.policy)
        for draft in drafts
        if draft.rate_limit and draft.rate_limit.key is None
    }
    return {name: rate for name, rate in wanted.items() if known.of(name).rate_limit != rate}


cache = VersionedCache(lambda _: load(()))
