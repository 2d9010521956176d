"""List the obstacles of a move of a tenant, and the data that stays in the old cell."""

from collections.abc import Iterator
from typing import Final

from jobs import VERSION, extensions, queries
from jobs.domain.states import CODES, State, state_of
from jobs.extensions import MoveHooks, Remark
from jobs.models import LaneKey, Queue
from jobs.services.cells.moving_access import Access, used_prefixes
from jobs.services.storage.schema import lacking

ACTIVE: Final = CODES[State.ACTIVE]


def of_schema(cell: str) -> list[Remark]:
    """Return why this release cannot work with the database of a cell."""
    if missing := lacking():
        text = f"the {cell} cell lacks {missing[0]}: run `manage.py migrate` there"
        return [Remark(text, is_obstacle=True)]
    release = queries.release()
    if release is not None and release.version != VERSION:
        text = f"the {cell} cell has release {release.version}, this is {VERSION}: use one release"
        return [Remark(text, is_obstacle=True)]
    return []


def of_old_cell(tenant: str) -> list[Remark]:
    """Return the remarks of the old cell."""
    followed = sum(one.watched for one in queries.moving_live(tenant))
    found = [
        Remark(
            f"{followed} jobs that have not ended cannot move: they are steps of workflows, have"
            " checkpoints or parents, or take turns in a schedule. Wait for them or cancel them",
            is_obstacle=True,
        )
    ]
    return [*(found if followed else ()), *_of_extensions(tenant, arrives=False)]


def of_new_cell(tenant: str, access: Access) -> list[Remark]:
    """Return the remarks of the new cell."""
    found: list[Remark] = []
    if live := sum(one.jobs for one in queries.moving_live(tenant)):
        text = f"the new cell has {live} jobs of tenant {tenant} that have not ended: cancel them"
        found.append(Remark(text, is_obstacle=True))
    if used := used_prefixes(access):
        text = f"another tenant has the API key ojs_{used[0]}_… in the new cell: revoke one of them"
        found.append(Remark(text, is_obstacle=True))
    return [*found, *_of_extensions(tenant, arrives=True)]


def _of_extensions(tenant: str, *, arrives: bool) -> list[Remark]:
    found = extensions.implementers(MoveHooks.remarks)
    return [one for extension in found for one in extension.remarks(tenant, arrives=arrives)]


QueueState = tuple[bool, object]  # paused, configuration


def queues_of(tenant: str) -> dict[str, QueueState]:
    """Return the queues of a tenant in this cell with their states."""
    return queues_named(set(LaneKey.objects.filter(tenant=tenant).values_list("queue", flat=True)))


def queues_named(names: set[str]) -> dict[str, QueueState]:
    """Return queues of this cell with their states."""
    rows = Queue.objects.filter(name__in=names)
    return {row.name: (row.paused_at is not None, row.config) for row in rows}


def compare(old: dict[str, QueueState], new: dict[str, QueueState]) -> Iterator[Remark]:
    """Yield a remark for each queue that works otherwise in the new cell."""
    for name, (is_paused, config) in sorted(old.items()):
        here = new.get(name, (False, {}))
        if is_paused and not here[0]:
            text = f"queue {name} is paused in the old cell only: pause it in the new cell, too"
            yield Remark(text, is_obstacle=True)
        if config != here[1]:
            yield Remark(f"queue {name} has another configuration in the new cell")


def by_name(jobs: dict[str, int]) -> dict[str, int]:
    """Return numbers by the names of states."""
    return {state_of(int(code)).value: number for code, number in jobs.items() if number}
