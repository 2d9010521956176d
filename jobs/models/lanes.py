"""Lanes and queue rotations: where jobs of a queue, a tenant and a version key wait."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Greatest, Least

from jobs.domain.wire.priorities import MAX_PRIORITY
from jobs.models.fields import NameField, Xid8Field


class Debt(models.Model):
    """The debt of a lane that another claim held; the next claim adds it to the lane's `vt`."""

    lane_id = models.BigIntegerField(db_index=True)
    cost = models.FloatField()  # jobs by weight

    class Meta:
        db_table = "ojs_debt"

    def __str__(self) -> str:
        return f"{self.lane_id} {self.cost}"


class Served(models.Model):
    """A tenant's started jobs by weight, at one rank in all queues of a scope. See ADR 0018.

    A claim adds the next sum and deletes the previous one, as with rotations. The largest sum is
    the latest. It is the first that the index finds, however many dead rows a held snapshot keeps.
    """

    pk = models.CompositePrimaryKey("scope", "rank", "tenant", "cost")
    scope = NameField()
    rank = models.SmallIntegerField()
    tenant = NameField()
    cost = models.FloatField()

    class Meta:
        db_table = "ojs_served"

    def __str__(self) -> str:
        return f"{self.scope}/{self.rank}/{self.tenant} {self.cost}"


class LaneKey(models.Model):
    """The identity of a lane: queue, priority, tenant, version key and the jobs' own limits.

    It is a separate table because each claim writes a new version of `Lane`. A unique index would
    check all these versions again.
    """

    tenant = NameField()
    queue = NameField()
    priority = models.SmallIntegerField()
    route = models.IntegerField(default=0, db_default=0)  # 0: any worker of the type
    # ids of the Limits that its jobs name, ascending
    limits = ArrayField(models.BigIntegerField(), default=list, db_default=[])

    class Meta:
        db_table = "ojs_lane_key"
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "queue", "priority", "route", "limits"],
                name="ojs_lane_key_unique",
            ),
        ]
        indexes = [
            GinIndex(fields=["limits"], name="ojs_lane_key_limits"),
            # lanes with an extension's version keys; only the making of such a lane writes to it
            models.Index(fields=["route"], name="ojs_lane_key_route", condition=Q(route__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.queue}/{self.priority}/{self.tenant}/{self.route}"


class Lane(models.Model):
    """The scheduling state of a lane: equal jobs and their virtual time; its id is its `LaneKey`'s.

    `vt` is the lane's virtual time: a claim adds jobs/weight, and the lane with the smallest value
    is next. `queue` is where claims find the lane: the queue of its key. For a tenant with a
    namespace it is `tenant:queue`, which only claims of this tenant read (ADR 0013). Where lanes
    are `ordered`, all of a queue at once, `vt` is the `seq` of the first job, or less. Where
    tenants share over a `scope`, `vt` is a lower bound: the claim adds the tenant's jobs in its
    other queues when the lane is next, see ADR 0018. `low` bounds the `seq` of its jobs from below,
    see ADR 0003. Extensions set weight, boost, the tenant's limit, ordered, timed, scope, queue and
    paused through `services/lanes/lanes.py`; `active` and `blocked_*` belong to the claim.
    """

    # not unique in the database, like every column: see LaneKey and migration 0002
    id = models.BigIntegerField(primary_key=True)
    queue = NameField()
    priority = models.SmallIntegerField()
    boost = models.SmallIntegerField(default=0, db_default=0)  # of the tenant, adds to the priority
    # the negated priority with the boost, bounded
    rank = models.GeneratedField(
        expression=-Least(MAX_PRIORITY, Greatest(-MAX_PRIORITY, F("priority") + F("boost"))),
        output_field=models.SmallIntegerField(),
        db_persist=True,
    )
    tenant = NameField()
    route = models.IntegerField(default=0, db_default=0)  # 0: any worker of the type
    weight = models.FloatField(default=1, db_default=1)
    # jobs of the queue are handed out oldest first, over all tenants
    ordered = models.BooleanField(default=False, db_default=False)
    # jobs of the queue are charged by their run time
    timed = models.BooleanField(default=False, db_default=False)
    # the scope that its tenant shares over, see Served; null: the queue
    scope = NameField(null=True)
    paid = models.FloatField(default=0, db_default=0)  # the part of Served that `vt` contains
    # ids of Limits that hold its jobs back: its key's and the tenant's; null: none
    limits = ArrayField(models.BigIntegerField(), null=True)
    vt = models.FloatField(default=0, db_default=0)
    low = models.BigIntegerField(default=0, db_default=0)
    active = models.BooleanField(default=False, db_default=False)  # may hold ready rows
    blocked_by = models.BigIntegerField(null=True)  # the Limit that is reached
    blocked_until = models.DateTimeField(null=True)  # when it opens; null: at the end of a job
    paused = models.BooleanField(default=False, db_default=False)  # held by an operator
    # the largest `seq` of jobs that came back; while the lane has jobs up to it, no hint applies;
    # null: no job came back
    returned = models.BigIntegerField(null=True)

    class Meta:
        db_table = "ojs_lane"
        constraints = [
            models.CheckConstraint(name="ojs_lane_weight_positive", condition=Q(weight__gt=0)),
        ]
        indexes = [
            # claim: the next lanes of a queue
            models.Index(
                # of lanes with equal `vt` the oldest comes first, wherever its row is
                fields=["queue", "rank", "vt", "id"],
                name="ojs_lane_pick",
                condition=Q(active=True, blocked_by__isnull=True, paused=False),
            ),
            # release: the lanes that a limit had blocked
            models.Index(
                fields=["blocked_by"],
                name="ojs_lane_blocked",
                condition=Q(blocked_by__isnull=False),
            ),
            # claim: the lanes whose limit opens by itself
            models.Index(
                fields=["queue", "blocked_until"],
                name="ojs_lane_opens",
                condition=Q(blocked_until__isnull=False),
            ),
            # claim: the lanes of a queue that may come before the claim's hint
            models.Index(
                fields=["queue"],
                name="ojs_lane_returned",
                condition=Q(ordered=True, returned__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.queue}/{self.priority}/{self.tenant}/{self.route}"


class Turn(models.Model):
    """The rotation state of queues that are claimed together. Spec: fair-scheduling 7, 8.

    One row per key; arrays by position of `queues`. A claim adds the next version and deletes the
    previous one, instead of updating it. The newest is the first that its index finds, however many
    dead rows a held snapshot keeps.
    """

    pk = models.CompositePrimaryKey("key", "seq")
    key = NameField()  # a pool's name, or `:` and a hash of the request's queues
    seq = models.BigIntegerField()  # dispatches so far
    queues = ArrayField(NameField())
    served = ArrayField(models.BigIntegerField())  # the number of the queue's last dispatch
    opened = ArrayField(models.BigIntegerField())  # dispatches when the queue began to have jobs
    vts = ArrayField(models.FloatField())  # virtual times: a dispatch adds 1/weight
    is_open = ArrayField(models.BooleanField())  # had jobs at the last claim
    since = ArrayField(models.DateTimeField())  # waits since then: last dispatch, or opened
    floor = models.FloatField()  # the virtual time of the last dispatch
    at = models.DateTimeField()

    class Meta:
        db_table = "ojs_turn"
        indexes = [
            # prune_rotations: rotations that no claim used for long
            models.Index(fields=["at"], name="ojs_turn_at"),
        ]

    def __str__(self) -> str:
        return f"{self.key} {self.seq}"


class Charge(models.Model):
    """A queue whose jobs are charged by run time, and the position up to which they were charged.

    `mean_ms` is the mean of the last attempts, `jobs` of them. Spec: contract 20.4.
    """

    queue = NameField(primary_key=True)
    stamp = Xid8Field()
    jobs = models.IntegerField()
    mean_ms = models.FloatField()

    class Meta:
        db_table = "ojs_charge"

    def __str__(self) -> str:
        return str(self.queue)
