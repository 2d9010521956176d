"""Notify extensions about watched jobs, in the transaction that moved the jobs.

A service that ends or revives jobs calls `follow` for the watched jobs before it commits.
"""

from collections.abc import Sequence

from jobs import extensions, queries
from jobs.domain.outcome.transition import Transition
from jobs.domain.states import CODES, State
from jobs.extensions import TransitionHooks


def follow(transitions: Sequence[Transition]) -> None:
    """Report transitions of watched jobs; the caller holds the transaction open."""
    if transitions:
        for extension in extensions.implementers(TransitionHooks.observe):
            extension.observe(transitions)


def follow_discarded(discarded: Sequence[queries.Discarded]) -> None:
    """Report the watched jobs that were discarded while they waited."""
    follow(
        [
            Transition(row.id, row.queue, row.type, row.tenant, row.previous,
                       CODES[State.DISCARDED], row.attempt)
            for row in discarded if row.watched
        ]
    )  # fmt: skip
