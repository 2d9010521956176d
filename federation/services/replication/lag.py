"""The lag of the replication to other regions. Spec: contract 23.5, 23.8."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from federation import queries
from federation.models import ReplicationPeer, ReplicationPosition
from federation.queries import Lag
from federation.services.replication.replication import replication_config

COUNTED = 10_000  # bound of the count of pending revisions


@dataclass(frozen=True, slots=True)
class PeerLag:
    """A peer with its lag and its replication row; `row` None: no exchange yet."""

    lag: Lag
    row: ReplicationPeer | None
    is_late: bool  # beyond max_lag_seconds


def lags_ms() -> Mapping[str, int | None]:
    """Return the replication lag of each peer in milliseconds; absent: no replication to it."""
    return {one.region: one.lag_ms for one in lags()}


def lags(most: int = 1) -> list[Lag]:
    """Return the lag of each peer; `pending` is counted up to `most`."""
    config = replication_config()
    if config is None or not config.peers:
        return []
    position = ReplicationPosition.objects.filter(id=1).first()
    place = (position.stamp, position.seq) if position else (0, 0)
    peers = [one.id for one in config.peers]
    return queries.lags(peers, config.local, place=place, most=most)


def watch() -> int:
    """Run the loop: store the lags and their starts; returns how many peers are late.

    One statement stores all of them. Locks: rows of peers, in the order of their regions; every
    other writer of them locks one row.
    """
    config = replication_config()
    found = [] if config is None else lags()
    late_ms = 0 if config is None else config.rules.max_lag_seconds * 1000
    return queries.note_lags({one.region: one.lag_ms for one in found}, late_ms)


def peers() -> Sequence[PeerLag]:
    """Return all peers, by id; empty if replication is off."""
    config = replication_config()
    if config is None:
        return []
    rows = {row.region: row for row in ReplicationPeer.objects.all()}
    late_ms = config.rules.max_lag_seconds * 1000
    return [PeerLag(one, rows.get(one.region), one.lag_ms > late_ms) for one in lags(COUNTED)]


def conflicts() -> int:
    """Return the total number of conflicts: federated jobs that several regions had."""
    return sum(ReplicationPeer.objects.values_list("conflicts", flat=True))
