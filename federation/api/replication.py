"""Endpoints of replication and failover. Spec: contract 23.5."""

from dataclasses import replace

from rest_framework.request import Request

from federation.api import replication_codec as codec
from federation.api.base import FederationView
from federation.services.replication import lag
from federation.services.replication.adopt import adopt
from federation.services.replication.copies import copies
from federation.services.replication.forget_region import forget_copies
from federation.services.replication.give_up import give_up
from federation.services.replication.ingest import ingest
from federation.services.replication.replication import replication_config, required
from jobs.api.openapi import operation
from jobs.api.schemas import ID
from jobs.api.wire.answer import Answer
from jobs.domain.wire import jsonio

EXTENSION = "federation"


class Replicate(FederationView):
    """Receives revisions of another region's jobs."""

    deepest = jsonio.MAX_DEPTH  # a copy surrounds a job's own body

    @operation(
        "replicateJobs",
        {200: codec.INGESTED},
        body=codec.BATCH,
        refusals=(409,),
        extension=EXTENSION,
    )
    def post(self, request: Request) -> Answer:
        """Store a batch of revisions of a peer's jobs: the whole batch, or nothing of it.

        Copies are never handed out to workers. A batch may be repeated, and may arrive after later
        batches. All revisions are of one region: the region of the key, if the key is bound to one.
        Times before the end are null.
        """
        replicas, sent_at = codec.decode_batch(self.body())
        # all revisions are of one region, or the batch is refused
        self.for_region(replicas[0].origin_region, "jobs[0].origin_region")
        required()
        codec.require_consistent(replicas)
        return Answer(ingest(replicas, sent_at, self.caller)._asdict())


class GiveUp(FederationView):
    """Gives up jobs that another region has as well."""

    @operation(
        "giveUpJobs",
        {200: codec.GIVEN_UP},
        body=codec.CLAIMS,
        refusals=(409,),
        extension=EXTENSION,
    )
    def post(self, request: Request) -> Answer:
        """Give up jobs that a peer stored as well, after an answer of this region was lost.

        A waiting job is cancelled here. A started job stays, and the peer gives up its own job. If
        this server has no job with a federation id, it stores none with it from then on. The
        request may be repeated.
        """
        region, claims = codec.decode_claims(self.body())
        self.for_region(region, "region")
        return Answer(codec.encode_given_up(give_up(region, claims, self.caller)))


class FederatedJobDetail(FederationView):
    """One federated job over all regions."""

    @operation(
        "getFederatedJob",
        {200: codec.COPIES},
        path={"federation_id": ID},
        refusals=(404, 409),
        extension=EXTENSION,
    )
    def get(self, request: Request, federation_id: str) -> Answer:
        """Show the copies of a federated job that this server has; the first copy is the winner.

        Without replication these are jobs of this region that came through the router, or with the
        header `OJS-Federation-Dedupe`.
        """
        found = copies(federation_id, self.principal.tenant)
        if not self.principal.sees_classified:
            found = [(replace(one, payload=None), row) for one, row in found]
        return Answer(codec.encode_copies(federation_id, found))


class ReplicationStatus(FederationView):
    """The state of replication."""

    @operation("getReplication", {200: codec.STATUS}, extension=EXTENSION)
    def get(self, request: Request) -> Answer:
        """Show each peer's cursor, lag and problems; `pending` is counted to 10,000."""
        return Answer(codec.encode_status(replication_config(), lag.peers(), lag.conflicts()))


class RegionAdoption(FederationView):
    """Failover by an operator: adoption."""

    @operation(
        "adoptJobs",
        {200: codec.ADOPTED},
        body=codec.ADOPT,
        needs_body=False,
        path={"region_id": codec.REGION_ID},
        refusals=(409,),
        extension=EXTENSION,
    )
    def post(self, request: Request, region_id: str) -> Answer:
        """Enqueue the waiting jobs of a lost region here, from the copies that this server has.

        Pinned jobs stay, and so do copies without arguments (`kept` counts both). The request reads
        up to `limit` jobs; `next` is the value of `after` for the next request, null at the end. A
        region that may still run is refused unless `force` is true: its jobs would run twice.
        """
        order = codec.decode_order(region_id, self.optional_body())
        return Answer(codec.encode_adopted(order, adopt(order, self.caller)))


class RegionForgetting(FederationView):
    """Removes the copies of a region's jobs."""

    @operation(
        "forgetRegionCopies",
        {200: codec.FORGOTTEN},
        body=codec.FORGET,
        needs_body=False,
        path={"region_id": codec.REGION_ID},
        refusals=(404, 409),
        extension=EXTENSION,
    )
    def post(self, request: Request, region_id: str) -> Answer:
        """Remove the copies of jobs of a region that never comes back.

        Removes up to `limit` copies; while `done` is false, repeat the request. A registered region
        is refused. Jobs that were adopted from the region stay.
        """
        order = codec.decode_forgetting(region_id, self.optional_body())
        return Answer(codec.encode_forgotten(order, forget_copies(order, self.caller)))
