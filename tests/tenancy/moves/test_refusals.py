"""Moves that are refused say each obstacle; a tenant that moves cannot be changed."""

from collections.abc import Callable

import psycopg
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections

from durable.models import Signal
from federation.models import Doubt, FederationKey
from jobs import queries
from jobs.database import alias
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.states import CODES, State
from jobs.domain.wire.ids import new_id
from jobs.models import ApiKey, Job, Move, Queue
from jobs.services.access.api_keys import NewKey
from jobs.services.access.api_keys import create as create_key
from jobs.services.cells import moving_jobs
from jobs.services.cells.other_cell import OtherCell
from jobs.services.operate import operate
from jobs.services.operate.queues import pause
from jobs.services.outcome.cancel import cancel
from scheduling.models import CronEntry
from tenancy.domain.errors import MoveRefused, TenantMoving, TenantSuspended
from tenancy.domain.tenant import Definition, Standing, TenantLimits
from tenancy.models import Tenant
from tenancy.services import move, tenants
from tests.factories import JobFactory
from tests.scheduling.conftest import registered
from tests.tenancy.moves.cells import CALLER, TENANT, Cells, Killed, acme, run_all
from webhooks.models import Subscription
from workflows.domain.kinds import KIND_CODES, FlowState, Kind
from workflows.models import Workflow


def test_an_unknown_tenant_is_refused(cells: Cells) -> None:
    with pytest.raises(NotFound):
        cells.move()


def test_the_default_tenant_is_refused(cells: Cells) -> None:
    JobFactory.create()

    found = move.preview(move.Wanted("_default", cells.other, CALLER))

    assert found.obstacles == ["_default is the default tenant, which is in each cell"]


def test_jobs_that_an_extension_follows_are_refused(cells: Cells) -> None:
    acme()
    Job.objects.update(watched=True)

    with pytest.raises(MoveRefused, match="1 jobs that have not ended cannot move"):
        cells.move()

    assert Tenant.objects.get(id=TENANT).state == "active"


def test_a_new_cell_with_live_jobs_of_the_tenant_is_refused(cells: Cells) -> None:
    acme()
    with cells.other.inside():
        acme()

    with pytest.raises(MoveRefused, match="the new cell has 1 jobs of tenant acme"):
        cells.move()


def test_a_new_cell_with_a_schedule_of_the_tenant_is_refused(cells: Cells) -> None:
    acme()
    with cells.other.inside():
        registered("nightly", Caller("test", tenant=TENANT), expression="@every 1h")

    with pytest.raises(MoveRefused, match="the schedule nightly"):
        cells.move()


def test_a_schedule_without_a_tenant_that_makes_its_jobs_is_refused(cells: Cells) -> None:
    acme()
    registered("shared", Caller("test"), expression="@every 1h")
    CronEntry.objects.update(template={"type": "t", "meta": {"tenant_id": TENANT}})

    with pytest.raises(MoveRefused, match="the schedule shared belongs to no tenant"):
        cells.move()


def test_a_paused_queue_is_refused_and_another_configuration_is_named(cells: Cells) -> None:
    acme(queue="mail")
    pause("mail", CALLER)
    Queue.objects.filter(name="mail").update(config={"timeout_ms": 1000})

    found = move.preview(cells.wanted())

    assert found.obstacles == [
        "queue mail is paused in the old cell only: pause it in the new cell, too"
    ]
    assert found.notes == ["queue mail has another configuration in the new cell"]
    assert found.jobs == {"available": 1}


def test_a_prefix_of_another_key_is_refused(cells: Cells) -> None:
    acme()
    create_key(NewKey("ci", (), tenant=TENANT), CALLER)
    prefix = ApiKey.objects.get().prefix
    with cells.other.inside():
        create_key(NewKey("ci", (), tenant="beta"), CALLER)
        ApiKey.objects.update(prefix=prefix)

    with pytest.raises(MoveRefused, match="another tenant has the API key"):
        cells.move()


def test_the_database_of_this_cell_is_refused(cells: Cells) -> None:
    acme()
    facts = connections[alias()].settings_dict
    same = OtherCell(f"postgresql://{facts['USER']}@/{facts['NAME']}?host={facts['HOST']}")

    with pytest.raises(MoveRefused, match="names the database of this cell"):
        Cells(same).move()

    same.close()
    assert Tenant.objects.get(id=TENANT).state == "active"


def test_an_older_new_cell_is_refused(cells: Cells, other_url: str) -> None:
    acme()
    with psycopg.connect(other_url, autocommit=True) as newer:
        newer.execute("ALTER TABLE ojs_replay RENAME TO ojs_replay_gone")
        try:
            with pytest.raises(MoveRefused, match="the new cell lacks table ojs_replay"):
                cells.move()
        finally:
            newer.execute("ALTER TABLE ojs_replay_gone RENAME TO ojs_replay")


def test_data_of_extensions_that_cannot_move_is_an_obstacle(cells: Cells) -> None:
    made = acme().id
    Signal.objects.create(job_id=made, name="go", payload="1", sender="test")
    Workflow.objects.create(
        id=new_id(), root_id=new_id(), depth=1, kind=KIND_CODES[Kind.CHAIN], name="nightly",
        state=FlowState.RUNNING, tenant=TENANT, caller={}, callbacks=[], members=1, slots=0, open=1,
    )  # fmt: skip
    Doubt.objects.create(tenant=TENANT, federation_id=new_id(), region="eu", job_id=made)

    found = move.preview(cells.wanted()).obstacles

    assert sorted(found) == [
        "1 jobs are in doubt: wait until their regions have answered",
        "1 jobs have signals that no step has taken: let them run or cancel them",
        "1 workflows have not ended: wait for them or cancel them",
    ]


def test_a_cell_that_replicates_is_refused(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    acme()
    monkeypatch.setattr(
        "federation.services.replication.moves.replication_config", lambda: "a configuration"
    )

    assert move.preview(cells.wanted()).obstacles == [
        "the old cell replicates its jobs: copies would name the wrong region",
        "the new cell replicates its jobs: copies would name the wrong region",
    ]


def test_webhook_subscriptions_and_a_replaced_configuration_are_named(cells: Cells) -> None:
    acme()
    Subscription.objects.create(id="w", url="https://x.example", secret=b"", tenant=TENANT)
    with cells.other.inside():
        tenants.put(TENANT, Definition(), CALLER)

    assert cells.move().notes == [
        "1 webhook subscriptions stay: make them in the new cell before the move",
        "the configuration of the tenant in the new cell is replaced",
    ]


def test_federation_ids_find_their_jobs_in_the_new_cell(cells: Cells) -> None:
    made, name = acme().id, new_id()
    FederationKey.objects.create(tenant=TENANT, federation_id=name, job_id=made)

    cells.move()

    with cells.other.inside():
        assert str(FederationKey.objects.get(federation_id=name).job_id) == made


# --- active jobs ----------------------------------------------------------------------------------


def test_an_active_job_that_does_not_end_gives_the_move_up(cells: Cells) -> None:
    active = acme(state=State.ACTIVE)
    registered("nightly", Caller("test", tenant=TENANT), expression="@every 1h")

    with pytest.raises(MoveRefused, match="1 jobs of tenant acme are active after 0 s"):
        cells.move()

    assert Tenant.objects.get(id=TENANT).state == "active"
    assert CronEntry.objects.filter(tenant=TENANT).exists()
    assert not Move.objects.exists()
    assert cells.states() == ({active.id: "active"}, {})


def test_an_open_transaction_that_may_store_a_job_gives_the_move_up(
    cells: Cells, database_url: str
) -> None:
    acme()
    with psycopg.connect(database_url) as host:
        pid = host.execute("SELECT pg_backend_pid()").fetchone()

        with pytest.raises(MoveRefused, match=f"sessions {pid and pid[0]} have open transactions"):
            cells.move()


def test_a_suspended_tenant_stays_suspended_when_its_move_is_given_up(cells: Cells) -> None:
    acme(state=State.ACTIVE)
    tenants.set_standing(TENANT, Standing.SUSPENDED, CALLER)

    with pytest.raises(MoveRefused):
        cells.move()

    assert Tenant.objects.get(id=TENANT).state == "suspended"


# --- during the move ------------------------------------------------------------------------------


@pytest.fixture
def halfway(cells: Cells, monkeypatch: pytest.MonkeyPatch) -> Cells:
    """Return two cells in the middle of a move, whose process was killed."""
    monkeypatch.setattr(moving_jobs, "SIZE", 1)
    acme()
    acme()
    real = moving_jobs.forget

    def once(*arguments: object) -> None:
        monkeypatch.setattr(moving_jobs, "forget", real)
        raise Killed

    monkeypatch.setattr(moving_jobs, "forget", once)
    with pytest.raises(Killed):
        cells.move(address="https://b.example.org")
    return cells


CHANGES: dict[str, Callable[[], object]] = {
    "resume": lambda: tenants.set_standing(TENANT, Standing.ACTIVE, CALLER),
    "configure": lambda: tenants.put(TENANT, Definition(), CALLER),
    "limit": lambda: tenants.put_limits(TENANT, TenantLimits(), CALLER),
    "delete": lambda: tenants.delete(TENANT, CALLER, force=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_tenant_that_moves_cannot_be_changed_in_either_cell(halfway: Cells, change: str) -> None:
    with pytest.raises(TenantMoving):
        CHANGES[change]()

    with halfway.other.inside(), pytest.raises(TenantMoving):
        CHANGES[change]()


def test_both_cells_refuse_new_jobs_with_the_time_of_a_retry(halfway: Cells) -> None:
    with pytest.raises(TenantSuspended, match=r"is moving to https://b\.example\.org") as refused:
        acme()
    assert refused.value.headers == {"Retry-After": "5"}

    with halfway.other.inside():
        with pytest.raises(TenantSuspended, match="just arriving from another cell") as refused:
            acme()
        assert refused.value.headers == {"Retry-After": "5"}
        assert run_all() == []


def test_a_job_that_got_a_signal_meanwhile_stops_the_move(halfway: Cells) -> None:
    left = Job.objects.get(tenant=TENANT)
    Signal.objects.create(job_id=left.pk, name="go", payload="1", sender="test")

    with pytest.raises(Conflict, match=f"job {left.pk} has a signal"):
        halfway.move()

    cancel(str(left.pk))
    halfway.move()
    assert set(halfway.states()[0].values()) == {"cancelled"}


def test_a_move_to_a_third_cell_is_refused_until_the_first_is_complete(
    halfway: Cells, other_url: str
) -> None:
    third = OtherCell(f"{other_url}&port=1")

    with pytest.raises(MoveRefused, match="complete that move, or give it up"):
        Cells(third).move()


def test_a_move_cannot_be_given_up_when_jobs_have_left(halfway: Cells) -> None:
    with pytest.raises(MoveRefused, match="jobs of tenant acme have left the old cell"):
        move.cancel(halfway.wanted())


def test_a_tenant_that_arrives_cannot_leave(halfway: Cells, database_url: str) -> None:
    home = OtherCell(database_url)
    with halfway.other.inside(), pytest.raises(MoveRefused, match="just arriving"):
        Cells(home).move()
    home.close()


def test_a_job_that_has_the_id_of_a_job_in_the_new_cell_stops_the_move(cells: Cells) -> None:
    made = acme()
    with cells.other.inside():
        JobFactory.create(id=made.id)

    with pytest.raises(Conflict, match=f"another job with id {made.id}"):
        cells.move()
    with cells.other.inside():
        cancel(made.id)
        queries.remove([made.id], [CODES[State.CANCELLED]])
    cells.move()

    with cells.other.inside():
        assert Job.objects.get(pk=made.id).tenant == TENANT


def test_a_move_that_has_moved_no_job_can_be_given_up(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = acme().id

    def killed(*_: object) -> int:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(moving_jobs, "pack", killed)
        with pytest.raises(Killed):
            cells.move()

    move.cancel(cells.wanted())

    assert run_all() == [made]
    assert not Move.objects.exists()
    with cells.other.inside():
        assert not Move.objects.exists()
        assert Tenant.objects.get(id=TENANT).state == "suspended"


def test_a_tenant_that_does_not_move_has_no_move_to_give_up(cells: Cells) -> None:
    with pytest.raises(MoveRefused, match="is not moving"):
        move.cancel(cells.wanted())


def test_jobs_that_came_back_after_the_move_refuse_a_second_move(cells: Cells) -> None:
    acme()
    ended = acme(state=State.CANCELLED, queue="other").id
    cells.move()
    operate.retry_job(ended, None, CALLER)

    with pytest.raises(MoveRefused, match="has moved to"):
        cells.move()


def test_the_old_cell_forgets_a_move_when_it_serves_the_tenant_again(cells: Cells) -> None:
    acme()
    cells.move()

    tenants.set_standing(TENANT, Standing.ACTIVE, CALLER)

    assert not Move.objects.exists()
    assert acme().tenant == TENANT


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "mysql://x"], "--to must start with postgresql://"),
        (["--to", "postgresql://h?nothing=1"], "--to cannot be read"),
        (["--to", "postgresql:///x?host=/nowhere"], "a database does not answer: .*/nowhere"),
        (["--wait", "soon"], "--wait"),
        (["--wait", "P2D"], "--wait must be at most a day"),
        (["--address", "x" * 501], "--address must have 1 to 500 characters"),
    ],
)
def test_wrong_options_are_refused_by_name(
    cells: Cells, other_url: str, options: list[str], message: str
) -> None:
    given = options if options[0] == "--to" else ["--to", other_url, *options]

    with pytest.raises(CommandError, match=message):
        call_command("ojs", "move-tenant", TENANT, *given)


def test_the_command_previews_moves_and_gives_up(
    cells: Cells, other_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = acme(state=State.SCHEDULED).id
    command = ["ojs", "move-tenant", TENANT, "--to", other_url]

    call_command(*command, "--dry-run")
    assert "scheduled             1" in capsys.readouterr().out
    with pytest.raises(CommandError, match="is not moving"):
        call_command(*command, "--cancel")
    call_command(*command, "--address", "https://b.example.org")

    assert "1 jobs moved; new jobs were refused for" in capsys.readouterr().out
    assert cells.states() == ({}, {made: "scheduled"})


def test_the_preview_of_a_refused_move_ends_with_code_1(
    cells: Cells, other_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    acme()
    Job.objects.update(watched=True)

    with pytest.raises(SystemExit) as ended:
        call_command("ojs", "move-tenant", TENANT, "--to", other_url, "--dry-run", "--json")

    assert ended.value.code == 1
    assert '"obstacles":["1 jobs' in capsys.readouterr().out


def test_a_change_by_the_settings_waits_for_the_end_of_a_move(halfway: Cells) -> None:
    row = Tenant.objects.get(id=TENANT)

    assert tenants.apply_settings() == 0

    assert Tenant.objects.get(id=TENANT).state == row.state
    assert SYSTEM.name == "system"
