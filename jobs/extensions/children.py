"""Hooks between a job and the work of other extensions that its steps started.

The core knows the jobs that a step started. An extension that runs work of another kind, such as
workflows, implements `has_ended` and `cancel_children`, and calls `wake_parent`.
"""

from collections.abc import Collection, Sequence

from jobs.domain.outcome.transition import Transition
from jobs.extensions.registry import Extension, implementers


class ChildHooks(Extension):
    """Hooks for work that a step of a job started. A job without such work calls none of them."""

    def wake_parent(self, parent: str, ended: str, tenant: str) -> None:
        """Wake a job that waits for this end, in the transaction of the end.

        `ended` is the name under which a suspension names the end. Locks: the row of the parent.
        """

    def has_ended(self, names: Collection[str], tenant: str) -> bool:
        """Return whether one of the ends has come that a suspension names.

        The caller has locked the parent: an end that commits later wakes it.
        """
        return False

    def cancel_children(self, ids: Collection[str], parent: str, tenant: str) -> None:
        """Cancel work that is to end with its parent, in the transaction that cancelled the parent.

        `ids` comes from the checkpoint of the parent. The work must name the parent, too.
        """

    def cancelled(self, transitions: Sequence[Transition]) -> None:
        """Follow up on waiting jobs that another extension cancelled and follows itself."""


def wake_parent(parent: str, ended: str, tenant: str) -> None:
    """Wake a job that waits for the end of what it started."""
    for extension in implementers(ChildHooks.wake_parent):
        extension.wake_parent(parent, ended, tenant)


def has_ended(names: Collection[str], tenant: str) -> bool:
    """Return whether one of these ends has come."""
    return any(one.has_ended(names, tenant) for one in implementers(ChildHooks.has_ended))


def cancel_children(ids: Collection[str], parent: str, tenant: str) -> None:
    """Cancel the work of other extensions that ends with its parent."""
    for extension in implementers(ChildHooks.cancel_children) if ids else ():
        extension.cancel_children(ids, parent, tenant)


def cancelled(transitions: Sequence[Transition]) -> None:
    """Follow up on waiting jobs that an extension cancelled; the caller holds the transaction."""
    for extension in implementers(ChildHooks.cancelled) if transitions else ():
        extension.cancelled(transitions)
