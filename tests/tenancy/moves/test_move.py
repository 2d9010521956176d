"""A tenant moves to another cell with its waiting jobs, dead letters, configuration and keys."""

from datetime import timedelta

import pytest
from django.db import connections
from django.utils import timezone

from jobs.database import alias
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.models import ApiKey, Audit, BulkAnswer, Job, Limit, Move, MovingJob, Start
from jobs.services.access.api_keys import NewKey
from jobs.services.access.api_keys import create as create_key
from jobs.services.cells.other_cell import OtherCell
from jobs.services.read.show import show
from jobs.services.record.reconcile import reconcile
from scheduling.models import CronEntry
from tenancy.domain.errors import TenantSuspended
from tenancy.domain.tenant import Definition, Rate, Standing, TenantLimits
from tenancy.models import Tenant
from tenancy.services import tenants
from tests.factories import JobFactory
from tests.scheduling.conftest import registered
from tests.tenancy.moves.cells import CALLER, DEAD, TENANT, Cells, acme, run_all, states

WAITING = {
    State.AVAILABLE: "available",
    State.SCHEDULED: "scheduled",
    State.PENDING: "pending",
    State.RETRYABLE: "retryable",
}


def test_waiting_jobs_move_with_their_ids_and_states(cells: Cells) -> None:
    made = {acme(state=state, queue=name).id: name for state, name in WAITING.items()}

    moved = cells.move()

    assert cells.states() == ({}, made)
    assert moved.jobs == dict.fromkeys(WAITING.values(), 1)


def test_a_moved_job_keeps_its_members_times_and_attempts(cells: Cells) -> None:
    before = acme(
        state=State.RETRYABLE, args=[1e-7, "ü", {"n": 12345678901234567890}], priority=7,
        meta={"trace": "t1"}, tags=["x"], version="1.2",
    )  # fmt: skip

    cells.move()

    with cells.other.inside():
        after = show(before.id)
        after.lane_id = before.lane_id
        assert after == before


def test_jobs_run_in_the_new_cell_in_their_order(cells: Cells) -> None:
    acme(queue="other")
    made = [acme().id for _ in range(5)]

    cells.move()

    assert run_all() == []
    with cells.other.inside():
        assert run_all() == made


def test_many_jobs_take_several_batches(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.services.cells.moving_jobs.SIZE", 2)
    made = [acme().id for _ in range(5)]

    cells.move()

    with cells.other.inside():
        assert run_all() == made
        assert Move.objects.get().batch == 3


def test_large_jobs_take_several_batches(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.services.cells.moving_jobs.MOST_BYTES", 1)
    made = {acme().id for _ in range(3)}

    cells.move()

    assert set(cells.states()[1]) == made


def test_dead_letters_and_ended_unique_jobs_move_and_other_ended_jobs_stay(cells: Cells) -> None:
    dead = acme(state=State.DISCARDED, **DEAD).id
    unique = acme(state=State.COMPLETED, unique={"keys": ["type"], "states": ["completed"]}).id
    kept = acme(state=State.COMPLETED).id

    cells.move()

    assert cells.states() == ({kept: "completed"}, {dead: "discarded", unique: "completed"})


def test_a_result_that_is_null_stays_null(cells: Cells) -> None:
    unique = acme(state=State.COMPLETED, unique={"keys": ["type"]})
    Job.objects.filter(pk=unique.id).update(result="null")

    cells.move()

    with cells.other.inside():
        assert Job.objects.filter(pk=unique.id, result__isnull=False).exists()


def test_a_unique_job_still_refuses_an_equal_job(cells: Cells) -> None:
    policy = {"keys": ["type"], "on_conflict": "ignore"}
    first = acme(unique=policy)

    cells.move()

    with cells.other.inside():
        assert acme(unique=policy).id == first.id


def test_a_rate_limit_of_jobs_counts_its_starts_on_in_the_new_cell(cells: Cells) -> None:
    members = {"rate_limit": {"key": "api", "rate": {"limit": 2, "period": "PT1H"}}}
    for _ in range(3):
        acme(**members)
    assert len(run_all()) == 2

    cells.move()

    with cells.other.inside():
        assert run_all() == []
        assert Start.objects.get().jobs == 2
        assert Limit.objects.filter(tenant=TENANT, key="api").exists()


def test_the_configuration_and_the_keys_move(cells: Cells) -> None:
    limits = TenantLimits(max_concurrency=3, max_enqueue_rate=Rate(100, 1000))
    tenants.put(TENANT, Definition(limits=limits, name="Acme", weight=2.5), CALLER)
    key, _ = create_key(NewKey("ci", ("ojs:data:enqueue",), tenant=TENANT), CALLER)
    acme()

    cells.move()

    with cells.other.inside():
        row = Tenant.objects.get(id=TENANT)
        assert (row.name, row.fairness_weight, row.max_concurrency) == ("Acme", 2.5, 3)
        assert row.enqueue_limit == 100
        copied = ApiKey.objects.get(tenant=TENANT)
        assert bytes(copied.secret_hash) == bytes(key.secret_hash)
        assert copied.prefix == key.prefix


def test_a_schedule_moves_and_fires_a_run_that_became_due_meanwhile(cells: Cells) -> None:
    entry = registered("nightly", Caller("test", tenant=TENANT), expression="@every 1h")
    due = timezone.now() - timedelta(seconds=1)
    tenants.put(TENANT, Definition(), CALLER)
    CronEntry.objects.update(due_at=due, next_run_at=due, run_count=41)

    cells.move()

    assert not CronEntry.objects.exists()
    with cells.other.inside():
        moved = CronEntry.objects.get(tenant=TENANT)
        assert (moved.name, moved.due_at, moved.run_count) == (entry.name, due, 41)


def test_an_answer_with_an_idempotency_key_moves(cells: Cells) -> None:
    acme()
    BulkAnswer.objects.create(
        operation="bulk", tenant=TENANT, key="k", request_hash=b"h", status=201, answer=b"{}"
    )

    cells.move()

    with cells.other.inside():
        assert BulkAnswer.objects.get().key == "k"


def test_the_counts_of_both_cells_agree_with_their_jobs(cells: Cells) -> None:
    for state in WAITING:
        acme(state=state, queue=state.value)
    acme(state=State.DISCARDED, **DEAD)

    cells.move()

    assert reconcile() == []
    with cells.other.inside():
        assert reconcile() == []


def test_producers_learn_where_the_tenant_is(cells: Cells) -> None:
    acme()

    cells.move(address="https://b.example.org")

    with pytest.raises(TenantSuspended, match=r"moved to https://b\.example\.org") as refused:
        acme()
    assert refused.value.headers == {"Retry-After": "60"}
    assert refused.value.details["moved_to"] == "https://b.example.org"
    with cells.other.inside():
        assert acme().tenant == TENANT


def test_a_suspended_tenant_stays_suspended(cells: Cells) -> None:
    acme()
    tenants.set_standing(TENANT, Standing.SUSPENDED, CALLER)

    cells.move()

    with cells.other.inside():
        assert Tenant.objects.get(id=TENANT).state == "suspended"


def test_a_tenant_moves_back(cells: Cells) -> None:
    made = acme().id
    cells.move()
    with cells.other.inside():
        late = acme().id

    _back(cells)

    assert states() == {made: "available", late: "available"}
    assert set(run_all()) == {made, late}


def _back(cells: Cells) -> None:
    """Move the tenant from the new cell to the old cell."""
    facts = connections[alias()].settings_dict
    home = OtherCell(f"postgresql://{facts['USER']}@/{facts['NAME']}?host={facts['HOST']}")
    with cells.other.inside():
        Cells(home).move()
    home.close()


def test_jobs_of_other_tenants_stay(cells: Cells) -> None:
    others = {JobFactory.create().id, JobFactory.create(meta={"tenant_id": "beta"}).id}
    mine = acme().id

    cells.move()

    old, new = cells.states()
    assert (set(old), set(new)) == (others, {mine})


def test_both_cells_have_audit_entries_and_no_job_is_on_its_way(cells: Cells) -> None:
    acme()

    cells.move()

    assert not MovingJob.objects.exists()
    actions = set(Audit.objects.filter(target=TENANT).values_list("action", flat=True))
    assert {"tenant.move_begun", "tenant.suspended", "tenant.moved_out"} <= actions
    with cells.other.inside():
        entry = Audit.objects.get(action="tenant.moved_in")
        assert entry.data["jobs"] == {"available": 1}
