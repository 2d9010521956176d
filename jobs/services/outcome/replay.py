"""Retry jobs of the dead letter by replay rules. Spec: contract 28.4."""

from collections.abc import Sequence

from jobs import queries
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.models import ReplayRule
from jobs.services.audit import audit
from jobs.services.outcome.revive import revive
from jobs.services.read.find import pattern
from jobs.services.read.show import show_many

BATCH = 500  # of one rule in one run
LOOKED = 10_000  # of the oldest dead jobs, for a rule that few of them match


def rules() -> list[ReplayRule]:
    """Return the rules in their order."""
    return list(ReplayRule.objects.all())


def replace_rules(wanted: Sequence[ReplayRule], caller: Caller) -> None:
    """Replace all rules at once; the count of replayed jobs follows the rule's name.

    Locks: the table, against another replacement; reading goes on.
    """
    with atomic():
        queries.lock_replay_rules()
        ReplayRule.objects.all().delete()
        ReplayRule.objects.bulk_create(wanted)
        names = [rule.name for rule in wanted]
        audit.record(caller, "dead_letter.rules_changed", "dead-letter", data={"rules": names})


def replay() -> int:
    """Apply every rule once, oldest jobs first; returns how many jobs it made available."""
    return sum(_apply(rule) for rule in ReplayRule.objects.filter(enabled=True))


def replay_once() -> int:
    """Apply the rules as a loop does: not again at once, however many jobs are left."""
    replay()
    return 0


def _apply(rule: ReplayRule) -> int:
    ids = queries.replayable(
        {
            "rule": rule.name,
            "queue": rule.queue,
            "type": rule.type and pattern(rule.type),
            "error_type": rule.error_type,
            "tenant": rule.tenant,
            "delay_ms": rule.delay_ms,
            "max_replays": rule.max_replays,
            "batch": BATCH,
            "looked": LOOKED,
        }
    )
    return len(revive(show_many(ids), {State.DISCARDED}, rule=rule.name))
