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
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import BackendUnavailable, InvalidRequest, OJSError, QueuePaused
from jobs.domain.lanes.queues import QueuePolicy, policy_of, rate_of
from jobs.domain.outcome.retry import parse_policy
from jobs.services.lanes.envelopes import limits

T = TypeVar("T")

NOTHING = QueuePolicy()
TRIES: Final = 20  # how often work begins anew because the configuration has just changed


class Stale(Exception):
    """The configuration has changed since this process read it."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """One configuration version; `queues` grows as queues are used."""

    version: int
    queues: dict[str, QueuePolicy]
    types: Mapping[str, int]  # ids of the limits of types

    def of(self, queue: str) -> QueuePolicy:
        """Return the configuration of a queue that was read."""
        return self.queues.get(queue, NOTHING)


def of_queues(names: Iterable[str]) -> Configuration:
    """Return the configuration with `names`; one statement if a name is new to this process."""
    cached = cache.latest or cache.cached() or Configuration(0, {}, {})
    wanted = set(names)
    missing = [name for name in wanted if name not in cached.queues]
    return _with(cached, missing, wanted) if missing else cached


def _with(
    cached: Configuration, missing: Collection[str], wanted: Collection[str]
) -> Configuration:
    since = cache.clears
    found = load(missing)
    if found.version == cached.version:
        cached.queues.update(found.queues)
        if len(cached.queues) > cache.most:
            cache.clear()
        return cached
    if len(missing) < len(wanted):
        found = load(wanted)  # the other queues are of an older version
    cache.share(found, since)
    return found


def load(names: Collection[str]) -> Configuration:
    """Read the configuration of queues in one statement."""
    stored = queries.configuration(sorted(names))
    unmade = stored.template, False
    read = {name: _read(*stored.queues.get(name, unmade)) for name in names}
    return Configuration(stored.version, read, stored.types)


def _read(config: Mapping[str, Any], is_draining: bool) -> QueuePolicy:  # noqa: FBT001 - a row
    """Return NOTHING itself for an empty configuration: its drafts pass unchanged."""
    found = policy_of(config, is_draining=is_draining)
    return NOTHING if found == NOTHING else found


def version() -> int:
    """Return the latest configuration version."""
    return queries.configuration(()).version


def hold() -> None:
    """Serialize changes of the configuration: only the transaction with this lock makes them.

    Call it first in a transaction that reads whether the configuration changes.
    """
    queries.lock_config_version()


def change() -> None:
    """Raise the configuration version: every process reads anew after the commit.

    Call it first in the transaction. Call `hold` instead if the configuration may stay the same:
    every process pays for a change.
    """
    queries.raise_config_version()


def repeat_if_stale(run: Callable[[], T], renew: Callable[[], None] | None = None) -> T:
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


def apply(cached: Configuration, drafts: Sequence[JobDraft]) -> list[JobDraft]:
    """Return drafts with the defaults of their queues.

    Raises QueuePaused for a queue that is being emptied, and InvalidRequest for a type that the
    queue does not accept.
    """
    return [
        draft if (policy := cached.of(draft.queue)) is NOTHING else _apply(policy, draft, n, drafts)
        for n, draft in enumerate(drafts)
    ]


def _apply(policy: QueuePolicy, draft: JobDraft, n: int, drafts: Sequence[JobDraft]) -> JobDraft:
    if policy.is_draining:
        raise _at(n, drafts, QueuePaused(
            f"queue {draft.queue} is being emptied", details={"queue": draft.queue}
        ))  # fmt: skip
    if not policy.allows(draft.type):
        raise _at(n, drafts, InvalidRequest.field(
            "type", f"is not accepted by queue {draft.queue}", draft.type
        ))  # fmt: skip
    draft = replace(
        draft,
        timeout_ms=draft.timeout_ms or policy.timeout_ms,
        visibility_ms=draft.visibility_ms or policy.visibility_ms,
    )
    if policy.default_retry:
        given, attempts = draft.retry_given
        draft.retry = parse_policy(given, policy.retry_base(limits().retry), max_attempts=attempts)
    return draft


def _at(n: int, drafts: Sequence[JobDraft], problem: OJSError) -> OJSError:
    if len(drafts) > 1:
        problem.details["index"] = n
    return problem


def rates(cached: Configuration, drafts: Sequence[JobDraft]) -> Mapping[str, dict[str, object]]:
    """Return the rate limits that jobs set on their queues and that differ from the cache."""
    wanted = {
        draft.queue: rate_of(draft.rate_limit.policy)
        for draft in drafts
        if draft.rate_limit and draft.rate_limit.key is None
    }
    return {name: rate for name, rate in wanted.items() if cached.of(name).rate_limit != rate}


cache = VersionedCache(lambda _: load(()))
