"""Save, read and delete checkpoints. Spec: contract 34.1."""

from collections.abc import Collection
from dataclasses import dataclass

from durable import queries
from durable.conf import conf as durable_conf
from durable.metrics import observe_saved
from durable.models import Checkpoint
from jobs.conf import conf
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.errors import (
    Conflict,
    NotFound,
    OJSError,
    PayloadTooLarge,
    PermissionDenied,
)
from jobs.domain.states import CODES, TERMINAL, State, state_of
from jobs.extensions.checkpoints import Kept
from jobs.services.audit.audit import audited
from jobs.services.read.show import show

TRIES = 3  # of a save: its job may move between two states meanwhile


@dataclass(frozen=True, slots=True)
class Save:
    """A checkpoint to save; `state` is JSON text.

    `worker_id` and `attempt` are those of the lease, None: not compared. `taken` are the ids of
    signals that the state now contains. With `extends` the save extends the lease.
    """

    job_id: str
    state: str
    worker_id: str | None = None
    attempt: int | None = None
    taken: tuple[int, ...] = ()
    extends: bool = False

    @property
    def is_of_worker(self) -> bool:
        """Whether it is for the holder of a lease alone."""
        return self.worker_id is not None or self.attempt is not None


def save(wanted: Save, *, tenant: str | None = None, may_seed: bool = False) -> queries.Saved:
    """Store a checkpoint, in one statement; `tenant` None: of a job of any tenant.

    A waiting job needs `may_seed`. Raises NotFound for an unknown job or one of another tenant,
    Conflict for an ended job or a lost lease, PermissionDenied without `may_seed`.
    """
    refusal: OJSError | None = None
    for _ in range(TRIES):
        saved = _store(wanted, tenant, seeds=may_seed and not wanted.is_of_worker)
        if saved is not None:
            observe_saved(saved.queue, saved.type, len(wanted.state.encode()))
            return saved
        refusal = _refusal(wanted, tenant, may_seed=may_seed)
        if refusal is not None:
            break
    raise refusal or Conflict(f"job {wanted.job_id} keeps changing, try again")


def _store(wanted: Save, tenant: str | None, *, seeds: bool) -> queries.Saved | None:
    return queries.save(
        {
            "id": wanted.job_id,
            "state": wanted.state,
            "worker_id": wanted.worker_id,
            "attempt": wanted.attempt,
            "taken": "{" + ",".join(map(str, wanted.taken)) + "}",
            "extends": wanted.extends,
            "seeds": seeds,
            "tenant": tenant,
            "heard_ms": conf().heard_ms,
        }
    )


def _refusal(wanted: Save, tenant: str | None, *, may_seed: bool) -> OJSError | None:
    """Return why a save stored nothing; None: its job moved, so it may be repeated."""
    job = show(wanted.job_id)
    if tenant not in {None, job.tenant}:
        return NotFound.of("job", wanted.job_id)
    state = state_of(job.state)
    details = {"job_id": job.id, "current_state": state.value}
    if state in TERMINAL:
        return Conflict(f"job is {state.value} and takes no checkpoint", details=details)
    if wanted.is_of_worker:
        details["reason"] = "lease_lost"
        return Conflict("the job is held by another worker or attempt, or by none", details=details)
    if state is not State.ACTIVE and not may_seed:
        return PermissionDenied(
            f"the credentials do not allow: save a checkpoint of a job that is {state.value}",
            details=details,
        )
    return None


def save_kept(kept: Kept) -> None:
    """Store the checkpoint of an attempt of this process. Raises PayloadTooLarge, Conflict."""
    size = len(kept.state.encode())
    if size > durable_conf().max_checkpoint_bytes:
        raise PayloadTooLarge.of("checkpoint", durable_conf().max_checkpoint_bytes, size)
    save(Save(kept.job_id, kept.state, kept.worker_id, kept.attempt, kept.taken))


def save_reported(job_id: str, state: str) -> bool:
    """Store the checkpoint of a progress report, in the transaction that locked the lease."""
    return _store(Save(job_id, state), None, seeds=False) is not None


def read(job_id: str) -> Checkpoint:
    """Return the checkpoint of a job. Raises NotFound without one."""
    found = Checkpoint.objects.filter(job_id=job_id).first()
    if found is None:
        raise NotFound.of("checkpoint of job", job_id)
    return found


def delete(job_id: str, caller: Caller) -> bool:
    """Delete the checkpoint of a job; returns whether it had one. It is audited."""
    with audited(caller, "checkpoint.deleted", job_id) as data:
        data["existed"] = bool(queries.drop([job_id], only_state=True))
    return bool(data["existed"])


def forget(job_ids: Collection[str]) -> None:
    """Delete the checkpoints and signals of jobs, in the caller's transaction."""
    queries.drop(job_ids)


def replace_state(job_id: str, state: str, sequence: int) -> None:
    """Replace the state of a waiting job's checkpoint. Raises Conflict if it has changed."""
    with atomic():
        if (locked := queries.lock(job_id)) is None:
            raise NotFound.of("job", job_id)
        if locked.state == CODES[State.COMPLETED]:
            raise Conflict("job is completed and has no checkpoint")
        changed = Checkpoint.objects.filter(job_id=job_id, sequence=sequence).update(
            state=state, bytes=len(state.encode()), sequence=sequence + 1
        )
        if not changed:
            raise Conflict(f"the checkpoint of job {job_id} has changed meanwhile")
