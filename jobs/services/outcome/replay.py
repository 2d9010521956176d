"""Retry jobs of the dead letter by replay rules. Spec: contract 28.4."""

from collections.abc import Sequence

from jobs import queries
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.domain.wire.durations import parse_short_duration
from jobs.extensions import Document
from jobs.models import ReplayRule
from jobs.services.audit.config_log import Subject, configured
from jobs.services.audit.documents import REPLAY, REPLAY_RULES
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
    with configured(caller, Subject(REPLAY_RULES, REPLAY), "dead_letter.rules_changed") as data:
        queries.lock_replay_rules()
        ReplayRule.objects.all().delete()
        ReplayRule.objects.bulk_create(wanted)
        data["rules"] = [rule.name for rule in wanted]


def restore(_: str, __: str | None, document: Document | None, caller: Caller) -> None:
    """Restore the rules of a version; None: there were none."""
    given = [dict(one) for one in (document or {}).get("rules", ())]
    replace_rules(
        [
            ReplayRule(position=n, delay_ms=parse_short_duration(one.pop("delay")), **one)
            for n, one in enumerate(given)
        ],
        caller,
    )


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
