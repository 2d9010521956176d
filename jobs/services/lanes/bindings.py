"""Remember each worker's pool and declaration, as this process last read them.

Spec: fair-scheduling 6.2; contract 22.3.

The values are a guess that every claim checks. A right guess saves a second claim.
"""

from typing import Any

import orjson

from jobs import caches
from jobs.domain.dispatch.claim import UNDECLARED, Declaration, FetchRequest
from jobs.models import Worker

MOST = 10_000

_pools: dict[str, str] = {}
_declared: dict[str, Declaration] = {}


def pool_members(request: FetchRequest) -> dict[str, Any]:
    """Return the members of a request that follow from the pool that this process remembers.

    It runs a statement only for a request that leaves the queues to the pool.
    """
    if request.pool is not None or request.worker_id is None:
        return {}
    pool = _pools.get(request.worker_id)
    if pool is None and not request.queues:  # without the pool there is no queue to claim from
        learn(request.worker_id, find(request.worker_id) or "")
        pool = _pools.get(request.worker_id)
    return {"pool": pool, "names_pool": False}


def find(worker_id: str) -> str | None:
    """Read the pool of a worker."""
    found: str | None = Worker.objects.filter(id=worker_id).values_list("pool", flat=True).first()
    return found


def learn(worker_id: str | None, pool: str) -> None:
    """Remember the pool of a worker; an empty string stands for none."""
    if worker_id is None:
        return
    if len(_pools) >= MOST:
        _pools.clear()
    if pool:
        _pools[worker_id] = pool
    else:
        _pools.pop(worker_id, None)


def declared(worker_id: str | None) -> Declaration:
    """Return the worker's declaration as it was last read."""
    return UNDECLARED if worker_id is None else _declared.get(worker_id, UNDECLARED)


def find_declared(worker_id: str) -> Declaration:
    """Read a worker's declaration and remember it."""
    row = Worker.objects.filter(id=worker_id, declared__isnull=False)
    found = row.values_list("declared", "declaration").first()
    declared = UNDECLARED
    if found is not None and found[0]:  # 0: the worker withdrew its declaration
        declared = Declaration(found[0], orjson.dumps(found[1]).decode())
    learn_declared(worker_id, declared)
    return declared


def learn_declared(worker_id: str, declaration: Declaration) -> None:
    """Remember a worker's declaration."""
    if len(_declared) >= MOST:
        _declared.clear()
    if declaration.digest:
        _declared[worker_id] = declaration
    else:
        _declared.pop(worker_id, None)


def clear_cache() -> None:
    """Drop all remembered values."""
    _pools.clear()
    _declared.clear()


caches.register(clear_cache)
