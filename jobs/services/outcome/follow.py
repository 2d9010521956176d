"""Tell the extensions about jobs they watch, in the transaction that moved them.

Whoever ends jobs, or revives ended ones, calls `follow` for the watched ones before it commits.
"""

from collections.abc import Sequence

from jobs import extensions, queries
from jobs.domain.states import CODES, State
from jobs.domain.transition import Transition


def follow(transitions: Sequence[Transition]) -> None:
    """Pass on what happened to watched jobs; the caller holds the transaction open."""
    if transitions:
        for observe in extensions.having("observe"):
            observe(transitions)


def follow_discarded(discarded: Sequence[queries.Discarded]) -> None:
    """Pass on which watched jobs were discarded while they waited."""
    follow(
        [
            Transition(row.id, row.queue, row.type, row.tenant, row.previous,
                       CODES[State.DISCARDED], row.attempt)
            for row in discarded if row.watched
        ]
    )  # fmt: skip
