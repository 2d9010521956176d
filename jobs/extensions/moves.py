"""Hooks into the move of a tenant to another cell."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db.models import Model

from jobs.domain.access.caller import Caller
from jobs.extensions.registry import Extension


class Remark(NamedTuple):
    """A sentence for the operator about data that does not move; an obstacle refuses the move."""

    text: str
    is_obstacle: bool = False


class MoveHooks(Extension):
    """Hooks of an extension with data of tenants; the old cell and the new cell call them.

    A hook that is called again for the same tenant must change nothing more: a move is repeated
    after a crash.
    """

    def remarks(self, tenant: str, *, arrives: bool) -> Sequence[Remark]:
        """Return what does not move, or why the tenant cannot move; it only reads.

        `arrives`: this cell is the new one.
        """
        return ()

    def require_movable(self, job_ids: Sequence[str]) -> None:
        """Refuse to take these jobs out of the old cell. Raises OJSError.

        In the transaction that has deleted their rows, and holds their locks.
        """

    def moving_records(self) -> Sequence[type[Model]]:
        """Return the tables with a column `tenant` whose rows are copied as they are.

        Their keys must be the same in all cells.
        """
        return ()

    def take_out(self, tenant: str, caller: Caller) -> Any:
        """Take data out of the old cell that must not act in two cells; return it as JSON.

        In the transaction that suspends the tenant. None: there is none.
        """
        return None

    def put_in(self, tenant: str, taken: Any, caller: Caller) -> None:
        """Store what `take_out` returned.

        In the transaction that resumes the tenant in the new cell, or in the old cell if the move
        was given up.
        """
