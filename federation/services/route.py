"""Decide where a job goes, by what this server knows of the regions. Spec: contract 23 §3."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from federation.domain.breaker import Permit
from federation.domain.config import FederationConfig
from federation.domain.meta import FederationMeta
from federation.domain.routing import Decision, Snapshot, decide
from federation.services import breakers, regions
from federation.services.probe import asked, note

ROUNDS = 3  # of probes: hub first, then what lies behind it
AT_ONCE = 16
_turns = count()  # of this process, for the strategies that take turns


def decided(job: FederationMeta, excluded: frozenset[str] = frozenset()) -> Decision:
    """Decide, after asking regions that nobody has asked lately. Not in a transaction.

    Raises NotFederated where this server belongs to no federation, and what `decide` raises; what
    may be otherwise later is in the decision.
    """
    turn = next(_turns)
    for left in reversed(range(ROUNDS + 1)):
        known = regions.registry()
        config = known.configured
        snapshot = Snapshot(known.health, known.loads, known.now, turn)
        decision = decide(config, snapshot, job, excluded)
        if not decision.probe or not left:
            break
        probe_all(decision.probe, config)
    return decision


def probe_all(ids: Iterable[str], config: FederationConfig) -> None:
    """Ask regions at the same time and note what they say; those with an open breaker are left."""
    permits: dict[str, Permit] = {}
    for region_id in ids:
        if permit := breakers.admit(region_id, config.breaker_rules):
            permits[region_id] = permit
    wanted = [one for one in config.regions if one.id in permits]
    # threads talk to regions only: a connection of the database is this thread's
    far = [one for one in wanted if one.id != config.local_region]
    with ThreadPoolExecutor(min(AT_ONCE, len(far) or 1)) as pool:
        futures = [(one, pool.submit(asked, one, config)) for one in far]
        found = {one.id: asked(one, config) for one in wanted if one not in far}
        found |= {one.id: future.result() for one, future in futures}
    for region_id, verdict in found.items():
        note(region_id, permits[region_id], verdict, config)
    regions.reread()
