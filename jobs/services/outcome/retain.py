"""Remove rows whose retention has ended, in small batches. Spec: contract 10.6, 28.3; ADR 0005.

A walk remembers its position, so later batches read neither dead index entries of removed rows nor
jobs that an extension retains. Every ROUND_S a walk starts anew.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Any

from jobs import caches, extensions, queries
from jobs.conf import conf
from jobs.database import atomic
from jobs.domain.outcome.retention import Retention, RetentionError, parse_age, parse_retention
from jobs.domain.record.periods import SECOND, SECONDS_KEPT_MS, SPANS
from jobs.domain.states import CODES, TERMINAL, State
from jobs.extensions import TransitionHooks
from jobs.metrics import observe_lost
from jobs.models import Depth, Queue
from jobs.services.access.throttle_logins import delete_expired_windows
from jobs.services.record.unread import unread_from

logger = logging.getLogger("ojs.retain")

ROUND_S = 300.0
EVENTS_PER_JOB = 5  # they are small and there are several for each job
ENDED = [CODES[state] for state in TERMINAL]
DEAD = 9  # Finished.kind of a job in the dead letter
START = ("0", 0)


def defaults() -> Retention:
    """Return the default retention of queues, from the settings."""
    chosen = conf()
    return Retention(
        completed=parse_age(chosen.retention_completed),
        cancelled=parse_age(chosen.retention_cancelled),
        discarded=parse_age(chosen.retention_discarded),
        dead_letter=parse_age(chosen.retention_dead_letter),
        dead_letter_jobs=chosen.retention_dead_letter_jobs or None,
    )


def retentions(queues: Iterable[str]) -> dict[str, Retention]:
    """Return the effective retention of each of these queues."""
    default = defaults()
    wanted = Queue.objects.filter(name__in=list(queues), config__has_key="retention")
    raws = dict(wanted.values_list("name", "config__retention"))
    return {queue: _read(queue, raws.get(queue), default) for queue in queues}


def retention_of(queue: str | None) -> Retention:
    """Return the effective retention of a queue, the default for None or an unknown one."""
    if queue is None:
        return defaults()
    raw = Queue.objects.filter(name=queue).values_list("config__retention", flat=True).first()
    return _read(queue, raw, defaults())


def _read(queue: str, raw: object, default: Retention) -> Retention:
    try:
        return parse_retention(raw, default)
    except RetentionError as problem:  # it was valid when set: the row was changed by hand
        logger.warning(
            "retention.wrong",
            extra={"queue": queue, "field": problem.field, "problem": str(problem)},
        )
        return default


@dataclass(frozen=True, slots=True)
class _Rule:
    """The rule for the ended jobs of one kind in a queue; `most` None: any number may stay."""

    queue: str
    kind: int
    age_ms: int | None
    most: int | None = None


@dataclass(slots=True, eq=False)
class Retainer:
    """One walk over all expired rows; a call is one batch and returns how many rows it removed."""

    _todo: list[_Rule] = field(default_factory=list)
    _seen: dict[tuple[str, int], tuple[datetime, str]] = field(default_factory=dict)
    _seen_events: queries.Seen = START
    _began: float = -ROUND_S

    def __call__(self, batch: int = 1000) -> int:
        """Remove at most a batch of each: jobs, results, events, counts, audit entries."""
        if monotonic() - self._began >= ROUND_S:
            self.restart()
            self._began = monotonic()
        return sum(
            (
                self._jobs(batch),
                queries.expire_results(batch),
                self._events(batch * EVENTS_PER_JOB),
                *_periods(batch),
                _audit(batch),
                delete_expired_windows(),
            )
        )

    def restart(self) -> None:
        """Start the walk anew."""
        self._todo.clear()
        self._seen.clear()
        self._seen_events = START

    def _jobs(self, batch: int) -> int:
        """Continue until a row was removed or no rule has more; retained jobs are only passed."""
        self._todo = self._todo or list(_rules())
        while self._todo:
            if removed := self._one_batch(batch):
                return removed
        return 0

    def _one_batch(self, batch: int) -> int:
        with atomic():
            found = queries.prunable([self._encode(n, r) for n, r in enumerate(self._todo)], batch)
            gone = _remove([row for row in found if row.held])
            _emit_pruned(
                row_and_rule
                for row_and_rule in self._with_rules(found)
                if row_and_rule[0].id in gone
            )
        for row, rule in self._with_rules(found):
            place = (row.finished_at, row.id)
            key = (rule.queue, rule.kind)
            self._seen[key] = max(place, self._seen.get(key, place))
        # the rules are walked in order: the rules before the last one with rows are done
        self._todo = self._todo[max(row.n for row in found) :] if len(found) >= batch else []
        return len(gone)

    def _with_rules(
        self, found: Iterable[queries.Prunable]
    ) -> Iterator[tuple[queries.Prunable, _Rule]]:
        return ((row, self._todo[row.n]) for row in found)

    def _encode(self, n: int, rule: _Rule) -> dict[str, Any]:
        at, job_id = self._seen.get((rule.queue, rule.kind), (None, None))
        return {
            "n": n, "queue": rule.queue, "kind": rule.kind, "age_ms": rule.age_ms,
            "most": rule.most, "seen_at": at, "seen_id": job_id,
        }  # fmt: skip

    def _events(self, batch: int) -> int:
        chosen, stamp = conf(), unread_from()
        pruned = queries.prune_events(
            {
                "age_ms": parse_age(chosen.retention_events),
                "most": chosen.retention_event_rows or None,
                "unread": None if stamp is None else str(stamp),
                "most_unread": chosen.retention_unread_events,
                "batch": batch,
            },
            self._seen_events,
        )
        self._seen_events = pruned.place
        if pruned.unread:
            observe_lost(pruned.unread)
            logger.error("events.lost", extra={"count": pruned.unread})
        return pruned.removed


def _rules() -> Iterator[_Rule]:
    """Return the rules that apply now, for every queue that ever had an ended job."""
    default = defaults()
    wanted = Queue.objects.filter(config__has_key="retention")
    raws = wanted.values_list("name", "config__retention")
    chosen = {queue: _read(queue, raw, default) for queue, raw in raws}
    depths = Depth.objects.filter(state__in=ENDED).order_by("queue", "state")
    for queue, state, jobs in depths.values_list("queue", "state", "jobs"):
        kept = chosen.get(queue, default)
        if state == CODES[State.COMPLETED]:
            yield _Rule(queue, state, kept.completed)
        elif state == CODES[State.CANCELLED]:
            yield _Rule(queue, state, kept.cancelled)
        else:
            yield _Rule(queue, state, kept.discarded)
            # the exact number is counted only where there may be too many
            most = kept.dead_letter_jobs
            is_many = most is not None and jobs > most
            yield _Rule(queue, DEAD, kept.dead_letter, most if is_many else None)


def _remove(held: Sequence[queries.Prunable]) -> set[str]:
    """Remove locked jobs, except jobs that an extension retains."""
    watched = [row.id for row in held if row.watched]
    retained: set[str] = set()
    if watched:
        for extension in extensions.implementers(TransitionHooks.retained_jobs):
            retained |= extension.retained_jobs(watched)
    ids = [row.id for row in held if row.id not in retained]
    if not ids:
        return set()
    archive = conf().pruning_policy == "archive"
    return set(queries.remove(ids, ENDED, pruned=True, archive=archive))


def _emit_pruned(gone: Iterable[tuple[queries.Prunable, _Rule]]) -> None:
    counts = Counter(
        (rule.queue, "max_age" if row.is_old else "max_count")
        for row, rule in gone
        if rule.kind == DEAD
    )
    if counts:
        queries.emit_pruned(
            [
                {"queue": queue, "reason": reason, "count": number}
                for (queue, reason), number in counts.items()
            ]
        )


def _periods(batch: int) -> Iterator[int]:
    chosen = conf()
    ages = (chosen.retention_minutes, chosen.retention_hours, chosen.retention_days)
    for span_s, age in zip(SPANS, ages, strict=True):
        age_ms = parse_age(age)
        yield 0 if age_ms is None else queries.prune_periods(span_s, age_ms, batch)
    yield queries.prune_periods(SECOND, SECONDS_KEPT_MS, batch)


def _audit(batch: int) -> int:
    age_ms = parse_age(conf().retention_audit)
    if age_ms is None:
        return 0
    return queries.prune_audit(age_ms, batch) + queries.prune_config_changes(age_ms, batch)


retain = Retainer()
caches.register(retain.restart)
