"""Which pool a worker that does not say so is in, and what it declared, as last learned here.

Spec: fair-scheduling 6.2; contract 22.3.

Only a guess, which every claim checks: it saves the claim that would find out.
"""

from dataclasses import replace

import orjson

from jobs.domain.claim import UNDECLARED, Declaration, FetchRequest
from jobs.models import Worker

MOST = 10_000

_pools: dict[str, str] = {}
_declared: dict[str, Declaration] = {}


def known(request: FetchRequest) -> FetchRequest:
    """Return the request with the pool of its worker, where that is known from before.

    No statement, but for a request that leaves the queues to the pool.
    """
    if request.pool is not None or request.worker_id is None:
        return request
    pool = _pools.get(request.worker_id)
    if pool is None and not request.queues:  # there is nothing to claim from before it is known
        learn(request.worker_id, find(request.worker_id) or "")
        pool = _pools.get(request.worker_id)
    return replace(request, pool=pool, is_declared=False)


def find(worker_id: str) -> str | None:
    """Look up the pool of a worker."""
    found: str | None = Worker.objects.filter(id=worker_id).values_list("pool", flat=True).first()
    return found


def learn(worker_id: str | None, pool: str) -> None:
    """Remember the pool of a worker; empty: it is in none."""
    if worker_id is None:
        return
    if len(_pools) >= MOST:
        _pools.clear()
    if pool:
        _pools[worker_id] = pool
    else:
        _pools.pop(worker_id, None)


def declared(worker_id: str | None) -> Declaration:
    """Return what a worker was last known to have declared."""
    return UNDECLARED if worker_id is None else _declared.get(worker_id, UNDECLARED)


def find_declared(worker_id: str) -> Declaration:
    """Look up what a worker has declared, and remember it."""
    row = Worker.objects.filter(id=worker_id, declared__isnull=False)
    found = row.values_list("declared", "declaration").first()
    known = UNDECLARED
    if found is not None and found[0]:  # 0: it took back what it had declared
        known = Declaration(found[0], orjson.dumps(found[1]).decode())
    learn_declared(worker_id, known)
    return known


def learn_declared(worker_id: str, declaration: Declaration) -> None:
    """Remember what a worker declared."""
    if len(_declared) >= MOST:
        _declared.clear()
    if declaration.digest:
        _declared[worker_id] = declaration
    else:
        _declared.pop(worker_id, None)


def forget() -> None:
    """Drop everything."""
    _pools.clear()
    _declared.clear()
