"""Endpoints of checkpoints. Spec: contract 34.1."""

import orjson
from rest_framework.request import Request

from durable.api import codec
from durable.conf import MOST_BYTES
from durable.services import checkpoints
from jobs.api.base import OJSView
from jobs.api.jobs.jobs import own
from jobs.api.openapi import operation
from jobs.api.schemas import ANY, BOOLEAN, ID, TIME, WORKER_ID, array, component, integer, obj
from jobs.api.schemas import optional as may_be_null
from jobs.api.wire.answer import Answer
from jobs.domain.access.classified import HIDDEN
from jobs.domain.errors import NotFound, PermissionDenied
from jobs.domain.job import Job, JobKind
from jobs.domain.wire.ids import is_id
from jobs.services.read.show import show

EXTENSION = "durable-execution"
_FACTS = {"job_id": ID, "sequence": integer(1), "created_at": TIME}
CHECKPOINT = component("Checkpoint", obj({**_FACTS, "state": ANY, "checkpoint": obj(_FACTS)}))
TAKEN = array(integer(1, codec.MAX_SIGNAL_ID), maxItems=codec.MAX_TAKEN)
SAVE = obj(
    {"state": {"description": f"Any JSON, at most {MOST_BYTES} bytes"}},
    may_be_null({"worker_id": WORKER_ID, "attempt": integer(1), "signals_taken": TAKEN})
    | {"extend": BOOLEAN},
)
DELETED = obj({"deleted": {"const": True}, "job_id": ID})


class DurableView(OJSView):
    """Base of endpoints below the path of a job."""

    def visible(self, job_id: str) -> Job:
        """Read a job that the caller may see. Raises NotFound, also for another tenant's job."""
        if not is_id(job_id):
            raise NotFound.of("job", job_id)
        return own(self.principal, show(job_id))

    def answerable(self, job_id: str) -> None:
        """Refuse a job that the caller may not answer for. Raises NotFound, PermissionDenied.

        A key without limits costs no statement: the statement itself compares the tenant.
        """
        if not is_id(job_id):
            raise NotFound.of("job", job_id)
        if self.principal.is_limited_worker:
            job = self.visible(job_id)
            if refusal := self.principal.answer_refusal(JobKind(job.queue, job.type)):
                raise refusal


class JobCheckpoint(DurableView):
    """Save, show and delete the checkpoint of one job."""

    http_method_names = ["get", "head", "put", "post", "delete", "options"]

    @operation("getCheckpoint", {200: CHECKPOINT}, refusals=(404,), extension=EXTENSION)
    def get(self, request: Request, job_id: str) -> Answer:
        """Show the checkpoint of a job."""
        job = self.visible(job_id)
        found = checkpoints.read(job_id)
        is_hidden = self.as_seen(job) is not job
        state = HIDDEN if is_hidden else orjson.Fragment(found.state)
        return Answer(codec.encode_checkpoint(job_id, state, found.sequence, found.created_at))

    @operation(
        "saveCheckpoint", {200: CHECKPOINT}, body=SAVE, refusals=(404, 409), extension=EXTENSION
    )
    def put(self, request: Request, job_id: str) -> Answer:
        """Save the checkpoint of a job, in place of the previous one.

        A waiting job takes it from callers that may enqueue to its queue.
        """
        return self._saved(job_id)

    @operation(
        "saveCheckpointByPost",
        {200: CHECKPOINT},
        body=SAVE,
        refusals=(404, 409),
        extension=EXTENSION,
    )
    def post(self, request: Request, job_id: str) -> Answer:
        """Save the checkpoint of a job, as PUT does."""
        return self._saved(job_id)

    @operation("deleteCheckpoint", {200: DELETED}, refusals=(404,), extension=EXTENSION)
    def delete(self, request: Request, job_id: str) -> Answer:
        """Delete the checkpoint of a job, so that its next attempt starts anew."""
        self.answerable(job_id)
        self.visible(job_id)
        checkpoints.delete(job_id, self.caller)
        return Answer({"deleted": True, "job_id": job_id})

    def _saved(self, job_id: str) -> Answer:
        wanted = codec.decode_save(job_id, self.body())
        self.answerable(job_id)
        saved = checkpoints.save(
            wanted, tenant=self.principal.tenant, may_seed=self._may_seed(wanted)
        )
        return Answer(codec.encode_saved(job_id, wanted.state, saved))

    def _may_seed(self, wanted: checkpoints.Save) -> bool:
        """Return whether the caller may enqueue to the job's queue. Raises NotFound."""
        if wanted.is_of_worker:
            return False
        try:
            self.require("saveCheckpoint?waiting")
            if self.principal.is_limited:
                job = self.visible(wanted.job_id)
                self.principal.require_enqueue([(job.queue, job.type)])
        except PermissionDenied:
            return False
        return True
