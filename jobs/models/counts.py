"""Counts aggregated from events."""

from django.db import models

from jobs.models.fields import NameField


class Depth(models.Model):
    """Jobs of a queue in a state, as of the last aggregated event."""

    pk = models.CompositePrimaryKey("queue", "state")
    queue = NameField()
    state = models.SmallIntegerField()
    jobs = models.BigIntegerField()

    class Meta:
        db_table = "ojs_depth"

    def __str__(self) -> str:
        return f"{self.queue} {self.state} {self.jobs}"


class QueueSize(models.Model):
    """Bytes of the waiting jobs of a queue, as of the last aggregated event."""

    queue = NameField(primary_key=True)
    bytes = models.BigIntegerField()

    class Meta:
        db_table = "ojs_queue_size"

    def __str__(self) -> str:
        return f"{self.queue} {self.bytes}"


class Counts(models.Model):
    """Totals of the jobs of one queue and type, aggregated from events."""

    queue = NameField()
    type = NameField()
    enqueued = models.BigIntegerField(default=0, db_default=0)
    started = models.BigIntegerField(default=0, db_default=0)
    completed = models.BigIntegerField(default=0, db_default=0)
    failed = models.BigIntegerField(default=0, db_default=0)  # failed attempts
    retried = models.BigIntegerField(default=0, db_default=0)
    discarded = models.BigIntegerField(default=0, db_default=0)
    cancelled = models.BigIntegerField(default=0, db_default=0)
    expired = models.BigIntegerField(default=0, db_default=0)
    wait_ms = models.BigIntegerField(default=0, db_default=0)
    run_ms = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        abstract = True


class Total(Counts):
    """Counts since the beginning: the monotonic values of /metrics.

    `tenant` is the tenant's label in metrics: see TenantLabel.
    """

    pk = models.CompositePrimaryKey("queue", "type", "tenant")
    tenant = NameField(default="", db_default="")

    class Meta:
        db_table = "ojs_total"

    def __str__(self) -> str:
        return f"{self.queue} {self.type}"


class Period(Counts):
    """Counts of one minute, hour or day: throughput, the last hour, charts. See ADR 0008.

    `span_s` is 60, 3600 or 86400 (domain/record/periods.py), `at` the beginning, in UTC. Each
    span counts all events, and has a retention of its own.
    """

    pk = models.CompositePrimaryKey("span_s", "at", "queue", "type")
    span_s = models.IntegerField()
    at = models.DateTimeField()

    class Meta:
        db_table = "ojs_period"

    def __str__(self) -> str:
        return f"{self.at} {self.span_s} s {self.queue} {self.type}"


class Latency(models.Model):
    """Jobs completed in a period, by latency bucket.

    The latency is waiting plus running. `bucket` n holds latencies of at most 1.2 to the power of n
    milliseconds. Spec: contract 32.6.
    """

    pk = models.CompositePrimaryKey("span_s", "at", "queue", "bucket")
    span_s = models.IntegerField()
    at = models.DateTimeField()
    queue = NameField()
    bucket = models.SmallIntegerField()
    jobs = models.BigIntegerField()

    class Meta:
        db_table = "ojs_latency"

    def __str__(self) -> str:
        return f"{self.at} {self.span_s} s {self.queue} {self.bucket}"


class ObjectivePeriod(models.Model):
    """Starts of a queue with an objective in a minute or an hour, and how many of them were late.

    `within_ms` is the objective's time when the starts were counted, so a changed objective begins
    with no history. The spans are OBJECTIVE_SPANS (domain/record/objective.py).
    """

    pk = models.CompositePrimaryKey("span_s", "at", "queue", "within_ms")
    span_s = models.IntegerField()
    at = models.DateTimeField()
    queue = NameField()
    within_ms = models.BigIntegerField()
    started = models.BigIntegerField()
    late = models.BigIntegerField()

    class Meta:
        db_table = "ojs_objective_period"

    def __str__(self) -> str:
        return f"{self.at} {self.span_s} s {self.queue} {self.late} of {self.started} late"


class ObjectiveTotal(models.Model):
    """Starts of a queue while it had an objective, ever: the monotonic values of /metrics."""

    queue = NameField(primary_key=True)
    started = models.BigIntegerField()
    late = models.BigIntegerField()

    class Meta:
        db_table = "ojs_objective_total"

    def __str__(self) -> str:
        return f"{self.queue} {self.late} of {self.started} late"


class TenantDepth(models.Model):
    """Jobs of a tenant by queue and state, as last aggregated: for keys bound to the tenant."""

    pk = models.CompositePrimaryKey("tenant", "queue", "state")
    tenant = NameField()
    queue = NameField()
    state = models.SmallIntegerField()
    jobs = models.BigIntegerField()

    class Meta:
        db_table = "ojs_tenant_depth"

    def __str__(self) -> str:
        return f"{self.tenant} {self.queue} {self.state} {self.jobs}"


class TenantPeriod(models.Model):
    """Counts of a tenant's jobs in a queue in one period; the spans are Period's."""

    pk = models.CompositePrimaryKey("tenant", "span_s", "at", "queue")
    tenant = NameField()
    span_s = models.IntegerField()
    at = models.DateTimeField()
    queue = NameField()
    enqueued = models.BigIntegerField()
    started = models.BigIntegerField()
    completed = models.BigIntegerField()
    failed = models.BigIntegerField()
    wait_ms = models.BigIntegerField()  # sum over the started jobs
    run_ms = models.BigIntegerField()  # sum over the completed jobs

    class Meta:
        db_table = "ojs_tenant_period"
        indexes = [
            models.Index(fields=["span_s", "at"], name="ojs_tenant_period_at"),  # retention
        ]

    def __str__(self) -> str:
        return f"{self.tenant} {self.at} {self.span_s} s {self.queue}"


class Duration(models.Model):
    """Histogram rows: how many waits or runs of a queue and type fell below a bound.

    `tenant` is the tenant's label in metrics: see TenantLabel.
    """

    pk = models.CompositePrimaryKey("queue", "type", "tenant", "measure", "bucket")
    queue = NameField()
    type = NameField()
    tenant = NameField(default="", db_default="")
    measure = models.SmallIntegerField()  # codes in domain/record/events.py
    bucket = models.SmallIntegerField()  # index of the bound in domain/record/events.py
    jobs = models.BigIntegerField()
    took_ms = models.BigIntegerField()  # sum over these jobs

    class Meta:
        db_table = "ojs_duration"

    def __str__(self) -> str:
        return f"{self.queue} {self.type} {self.measure} {self.bucket}"


class TenantLabel(models.Model):
    """A tenant with a label of its own in metrics: the first tenants with a job. Spec: MT 15.4.

    A label is never given up. Further tenants share `_other`. If metrics are not by tenant, every
    tenant has the empty name.
    """

    tenant = NameField(primary_key=True)
    place = models.IntegerField()  # 1: came first

    class Meta:
        db_table = "ojs_tenant_label"

    def __str__(self) -> str:
        return str(self.tenant)


class Tally(models.Model):
    """Totals of emitted events that are counted by kind: see sql/record/aggregate_events.sql."""

    pk = models.CompositePrimaryKey("kind", "name", "detail")
    kind = models.SmallIntegerField()  # of the event
    name = NameField()  # the queue, or the limit's key as on the wire
    detail = NameField()  # of a limit: the number that was reached; else empty
    times = models.BigIntegerField()

    class Meta:
        db_table = "ojs_tally"
        verbose_name_plural = "tallies"

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.times}"


class Dispatch(models.Model):
    """Jobs of a queue that were handed to a pool, ever. Spec: contract 20.6."""

    pk = models.CompositePrimaryKey("queue", "pool")
    queue = NameField()
    pool = NameField()  # empty: to workers without a pool
    jobs = models.BigIntegerField()
    last_at = models.DateTimeField()

    class Meta:
        db_table = "ojs_dispatch"
        verbose_name_plural = "dispatches"

    def __str__(self) -> str:
        return f"{self.queue} {self.pool} {self.jobs}"


class DispatchPeriod(models.Model):
    """Jobs of a queue handed to a pool in one second, minute or hour, and their waiting time.

    `span_s` is 1, 60 or 3600 (domain/record/periods.py). A window up to now is made of
    hours, of minutes before them and of seconds at its beginning.
    """

    pk = models.CompositePrimaryKey("span_s", "at", "queue", "pool")
    span_s = models.IntegerField()
    at = models.DateTimeField()
    queue = NameField()
    pool = NameField()  # empty: to workers without a pool
    jobs = models.BigIntegerField()
    wait_ms = models.BigIntegerField()  # sum over these jobs

    class Meta:
        db_table = "ojs_dispatch_period"

    def __str__(self) -> str:
        return f"{self.at} {self.span_s} s {self.queue} {self.pool}"
