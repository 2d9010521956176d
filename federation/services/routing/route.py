"""Decide the region of a job by the state of this server's router. Spec: contract 23.3."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from threading import Lock
from typing import ClassVar

from federation.domain.breaker import Permit
from federation.domain.config import FederationConfig
from federation.domain.health import Load
from federation.domain.meta import FederationMeta
from federation.domain.routing import Decision, Snapshot, decide
from federation.services.health import breakers
from federation.services.health.probe import asked, note
from federation.services.registry import regions
from jobs.conf import read_anew

ROUNDS = 3  # of probes: hub first, then the regions behind it
AT_ONCE = 16
_decisions = count()  # of this process, for strategies that alternate


class _Sent:
    """Jobs that this process sent to regions since their last load."""

    lock = Lock()
    by_region: ClassVar[dict[str, tuple[float, int]]] = {}  # the load's time, and how many

    @classmethod
    def cache_clear(cls) -> None:
        """Forget all sent jobs."""
        cls.by_region.clear()


def note_sent(region_id: str) -> None:
    """Add a job to the load of a region, whose next count may be an interval away."""
    known = regions.registry().loads.get(region_id)
    if known is None:
        return
    with _Sent.lock:
        at, number = _Sent.by_region.get(region_id, (0.0, 0))
        _Sent.by_region[region_id] = known.at, (number + 1 if at == known.at else 1)


def _with_sent(loads: Mapping[str, Load]) -> dict[str, Load]:
    """Return loads with sent jobs, so that not all jobs of an interval go to one region."""
    found = dict(loads)
    for region_id, (at, number) in list(_Sent.by_region.items()):
        load = found.get(region_id)
        if load is not None and load.at == at:
            found[region_id] = replace(load, available=load.available + number)
    return found


def decided(job: FederationMeta, excluded: frozenset[str] = frozenset()) -> Decision:
    """Decide, after probes of regions without a recent status. Not in a transaction.

    Raises NotFederated if this server belongs to no federation, and the errors of `decide`. The
    decision contains refusals that a recovery of a region would change.
    """
    decisions = next(_decisions)
    for left in reversed(range(ROUNDS + 1)):
        known = regions.registry()
        config = known.configured
        snapshot = Snapshot(known.health, _with_sent(known.loads), known.now, decisions)
        decision = decide(config, snapshot, job, excluded)
        if not decision.probe or not left:
            break
        probe_all(decision.probe, config)
    return decision


def probe_all(ids: Iterable[str], config: FederationConfig) -> None:
    """Probe regions concurrently and store the results; skip regions with an open breaker."""
    permits: dict[str, Permit] = {}
    for region_id in ids:
        if permit := breakers.admit(region_id, config.breaker_rules):
            permits[region_id] = permit
    wanted = [one for one in config.regions if one.id in permits]
    # threads only send requests: a database connection belongs to this thread
    far = [one for one in wanted if one.id != config.local_region]
    with ThreadPoolExecutor(min(AT_ONCE, len(far) or 1)) as pool:
        futures = [(one, pool.submit(asked, one, config)) for one in far]
        found = {one.id: asked(one, config) for one in wanted if one not in far}
        found |= {one.id: future.result() for one, future in futures}
    for region_id, verdict in found.items():
        note(region_id, permits[region_id], verdict, config)
    regions.reread()


read_anew(_Sent, setting="OJS_FEDERATION")
