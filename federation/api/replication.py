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
from federation.services.replication.replication import required, terms
from jobs.api.answer import Answer
from jobs.api.openapi import operation
from jobs.api.schemas import ID
from jobs.domain import jsonio

EXTENSION = "federation"


class Replicate(FederationView):
    """Revisions of another region's jobs."""

    deepest = jsonio.MAX_DEPTH  # a copy stands around a job's own body

    @operation(
        "replicateJobs",
        {200: codec.INGESTED},
        body=codec.BATCH,
        refusals=(409,),
        extension=EXTENSION,
    )
    def post(self, request: Request) -> Answer:
        """Take in what a peer tells of its jobs: all of the batch, or none of it.

        Copies are never handed out to workers. A batch may be sent again, and later than the ones
        that follow it. All revisions are of one region: that of the key, where it is bound to one.
        Times before the end are null.
        """
        replicas, sent_at = codec.decode_batch(self.body())
        # all are of one region, or the batch is refused
        self.for_region(replicas[0].origin_region, "jobs[0].origin_region")
        required()
        codec.require_consistent(replicas)
        return Answer(ingest(replicas, sent_at, self.caller)._asdict())


class GiveUp(FederationView):
    """Jobs that another region has, too."""

    @operation(
        "giveUpJobs",
        {200: codec.GIVEN_UP},
        body=codec.CLAIMS,
        refusals=(409,),
        extension=EXTENSION,
    )
    def post(self, request: Request) -> Answer:
        """Give up jobs that a peer stored, too, after an answer of this region was lost.

        What waits here is cancelled; what was started stays, and the peer gives up its own. Of a
        federation id that is not known here no job is stored from then on. May be repeated.
        """
        region, claims = codec.decode_claims(self.body())
        self.for_region(region, "region")
        return Answer(codec.encode_given_up(give_up(region, claims, self.caller)))


class FederatedJobDetail(FederationView):
    """One job, in whatever regions."""

    @operation(
        "getFederatedJob",
        {200: codec.COPIES},
        path={"federation_id": ID},
        refusals=(404, 409),
        extension=EXTENSION,
    )
    def get(self, request: Request, federation_id: str) -> Answer:
        """Show the copies of a federated job that are known here; the winner is the first.

        Without replication these are the jobs of this region that were sent through the router, or
        with the header that tells repeats.
        """
        found = copies(federation_id, self.principal.tenant)
        if not self.principal.sees_classified:
            found = [(replace(one, payload=None), row) for one, row in found]
        return Answer(codec.encode_copies(federation_id, found))


class ReplicationStatus(FederationView):
    """How replication goes."""

    @operation("getReplication", {200: codec.STATUS}, extension=EXTENSION)
    def get(self, request: Request) -> Answer:
        """Show each peer's cursor and lag, and what goes wrong; `pending` is counted to 10,000."""
        return Answer(codec.encode_status(terms(), lag.peers(), lag.conflicts()))


class RegionAdoption(FederationView):
    """Failover by an operator."""

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
        """Enqueue here what waits in a region that is gone, as far as it is known here.

        Pinned jobs stay, and so does what is known without its arguments (`kept` counts them).
        Looks at up to `limit` jobs; `next` is where to go on as `after`, null at the end. A region
        that is not known to be down is refused unless `force` is true: its jobs would run twice.
        """
        order = codec.decode_order(region_id, self.optional_body())
        return Answer(codec.encode_adopted(order, adopt(order, self.caller)))


class RegionForgetting(FederationView):
    """The end of what is known of a region."""

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

        Removes up to `limit` of them; `done` tells that none is left, else ask again. A region that
        is registered is refused. Jobs that were adopted from it are not touched.
        """
        order = codec.decode_forgetting(region_id, self.optional_body())
        return Answer(codec.encode_forgotten(order, forget_copies(order, self.caller)))
