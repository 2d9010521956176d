"""Send the changes of federated jobs of this region to the peers. Spec: contract 23.6.

One loop per deployment reads and writes the database; threads only send requests to peers. No
request is sent inside a transaction. A peer's cursor moves when the peer has taken a batch. After
the death of a process, unanswered batches are therefore sent again, which changes nothing there.
"""

import logging
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Final

from django.db.models import BigIntegerField, F, Value
from django.db.models.functions import Greatest, Now

from federation import queries
from federation.domain.breaker import State as BreakerState
from federation.domain.exchange import API, Call, Failure, Reply
from federation.domain.region import Region
from federation.domain.replica import Adoption, Replica, encode
from federation.models import ReplicationPeer
from federation.queries import Outgoing
from federation.services.registry import outbound
from federation.services.registry.regions import registry
from federation.services.replication.capture import BATCH, capture
from federation.services.replication.close_adoptions import close_adoptions
from federation.services.replication.replication import ReplicationConfig, replication_config
from jobs.conf import read_anew
from jobs.domain.wire import jsonio
from jobs.domain.wire.times import format_time
from jobs.services.read.clock import now

logger = logging.getLogger("ojs.federation")

PATH: Final = f"{API}/federation/replicate"
SOON_S: Final = 0.2  # between checks of a peer whose answer is pending
PATIENCE_S: Final = 1.0  # wait for answers in a run; later answers are read in a later run
TIMEOUT_S: Final = 20.0
MAX_PAUSE_S: Final = 30.0  # between attempts at a peer that fails
BYTES: Final = 2_000_000  # of payloads in a batch, by their stored size
OK, TOO_LARGE = 200, 413


@dataclass(slots=True)
class Sending:
    """A batch that was sent and is not answered."""

    future: "Future[Reply | Failure]"
    revisions: list[int]
    is_full: bool  # more may follow


@dataclass(slots=True)
class Peer:
    """The state of a peer in this process; the cursor is in the database."""

    region: Region
    sending: Sending | None = None
    failures: int = 0
    not_before: float = 0.0  # of the monotonic clock
    most: int = field(default=10_000)  # revisions of a batch: fewer after a refusal

    def fail(self) -> None:
        """Lengthen the pause before the next attempt."""
        self.failures += 1
        self.not_before = monotonic() + min(MAX_PAUSE_S, 2.0 ** min(self.failures - 1, 10))


class Replicator:
    """The unanswered batches of this process; one thread makes each run."""

    def __init__(self) -> None:
        """Begin without peers."""
        self._peers: dict[str, Peer] = {}
        self._pool = ThreadPoolExecutor(64, thread_name_prefix="ojs-replicate")
        self._next = 0.0
        self._is_behind = False  # the last run left work over

    def cache_clear(self) -> None:
        """Retry failing peers at once."""
        for peer in self._peers.values():
            peer.not_before, peer.failures = 0.0, 0

    def due_in_ms(self) -> int | None:
        """Return the milliseconds until the next run; None: replication is off."""
        config = replication_config()
        if config is None:
            return None
        return max(0, round((self._next - monotonic()) * 1000))

    def run_once(self) -> int:
        """Record changes, read answers of peers, send new revisions, handle adoptions.

        Returns how many events were read, revisions taken and adoptions handled.
        """
        config = replication_config()
        if config is None:
            return 0
        self._is_behind = False
        done = capture(config)
        self._is_behind = done >= BATCH
        self._meet(config)
        for peer in list(self._peers.values()):
            self._send(peer, config)
        under_way = [one.sending.future for one in self._peers.values() if one.sending]
        wait(under_way, timeout=PATIENCE_S)
        done += sum(self._heard(peer) for peer in self._peers.values())
        done += close_adoptions(config)
        waits = SOON_S if any(one.sending for one in self._peers.values()) else MAX_PAUSE_S
        pause = min(waits, config.rules.interval_seconds)
        self._next = monotonic() + (0.0 if self._is_behind else pause)
        return done

    def _meet(self, config: ReplicationConfig) -> None:
        """Add new peers, and drop removed and changed peers."""
        wanted = {one.id: one for one in config.peers}
        for name, peer in list(self._peers.items()):
            if wanted.get(name) != peer.region and peer.sending is None:
                del self._peers[name]
        for name, region in wanted.items():
            if name not in self._peers:
                self._peers[name] = Peer(region)

    def _send(self, peer: Peer, config: ReplicationConfig) -> None:
        """Start a batch, unless one is unanswered or the peer has a pause."""
        health = registry().health.get(peer.region.id)
        is_open = health is not None and health.breaker is BreakerState.OPEN
        if peer.sending is not None or is_open or monotonic() < peer.not_before:
            return
        row = ReplicationPeer.objects.filter(region=peer.region.id).first()
        most = min(peer.most, config.rules.batch)
        cursor = row.cursor if row else 0
        batch = queries.outgoing(config.local, cursor, batch=most, bytes_=BYTES)
        if not batch:
            return
        body = _body(batch, config.local)
        call = Call(peer.region.id, "POST", PATH, body, timeout_s=TIMEOUT_S)
        future = self._pool.submit(outbound.send, peer.region, call)
        # approximately: a batch that its size cut short counts as full, too
        is_full = len(batch) >= most or any(one.payload for one in batch)
        peer.sending = Sending(future, [one.revision for one in batch], is_full)

    def _heard(self, peer: Peer) -> int:
        """Process a peer's answer, if it came; returns how many revisions are finished."""
        sending = peer.sending
        if sending is None or not sending.future.done():
            return 0
        peer.sending = None
        answer = sending.future.result()
        if isinstance(answer, Reply) and answer.status == OK:
            peer.failures, peer.most = 0, min(10_000, peer.most * 2)
            _took(peer.region.id, sending.revisions[-1], len(sending.revisions))
            self._is_behind |= sending.is_full
            return len(sending.revisions)
        return self._refused(peer, sending.revisions, answer)

    def _refused(self, peer: Peer, revisions: list[int], answer: Reply | Failure) -> int:
        """After a refusal, shrink the next batch, skip the refused revision, or wait."""
        problem = answer.reason if isinstance(answer, Failure) else f"HTTP {answer.status}"
        _failed(peer.region.id, problem)
        index = _index(answer)
        if index is not None and 0 < index < len(revisions):
            peer.most = index  # the revisions before it
            self._is_behind = True
            return 1
        if index is not None or (isinstance(answer, Reply) and answer.status == TOO_LARGE):
            if index is None and len(revisions) > 1:
                peer.most = len(revisions) // 2
                self._is_behind = True
                return 1
            logger.error(
                "federation.replica_refused",
                extra={"peer": peer.region.id, "revision": revisions[0], "problem": problem},
            )
            _took(peer.region.id, revisions[0], 0, refused=1)
            peer.most = 10_000
            self._is_behind = True
            return 1
        peer.fail()
        return 0


def _body(batch: list[Outgoing], local: str) -> bytes:
    jobs = list(map(encode, _replicas(batch, local)))
    return jsonio.dumps({"sent_at": format_time(_utc_now()), "jobs": jobs})


def _utc_now() -> datetime:
    return now().astimezone(UTC)


def _replicas(batch: list[Outgoing], local: str) -> Iterator[Replica]:
    for one in batch:
        adopts = None
        if one.adopts_region is not None and one.adopts_job is not None:
            adopts = Adoption(one.adopts_region, one.adopts_job)
        yield Replica(
            federation_id=one.federation_id, origin_region=local, job_id=one.job_id,
            tenant=one.tenant, type=one.type, queue=one.queue, state=one.state,
            priority=one.priority, attempt=one.attempt, created_at=one.created_at,
            enqueued_at=one.enqueued_at, completed_at=one.completed_at, revision=one.revision,
            bound_to=one.bound_to, adopts=adopts,
            payload=None if one.payload is None else jsonio.loads_object(one.payload.encode()),
        )  # fmt: skip


def _index(answer: Reply | Failure) -> int | None:
    """Return the index of the refused revision, None if the answer names none."""
    if not isinstance(answer, Reply) or not isinstance(answer.body, dict):
        return None
    problem = answer.body.get("error")
    details = problem.get("details") if isinstance(problem, dict) else None
    index = details.get("index") if isinstance(details, dict) else None
    return index if isinstance(index, int) and not isinstance(index, bool) and index >= 0 else None


def _took(region: str, revision: int, number: int, *, refused: int = 0) -> None:
    ReplicationPeer.objects.get_or_create(region=region)
    changes = {"failures": 0, "last_error": None} if not refused else {}
    reached = Value(revision, BigIntegerField())  # as a plain number it would be sent as 32 bits
    ReplicationPeer.objects.filter(region=region).update(
        cursor=Greatest(F("cursor"), reached), sent=F("sent") + number,
        refused=F("refused") + refused, sent_at=Now(), **changes,
    )  # fmt: skip


def _failed(region: str, reason: str) -> None:
    ReplicationPeer.objects.get_or_create(region=region)
    ReplicationPeer.objects.filter(region=region).update(
        failures=F("failures") + 1, last_error=reason[:500]
    )


replicator = Replicator()
read_anew(replicator, setting="OJS_FEDERATION")
