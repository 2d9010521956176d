"""Operations on every job of a filter: preview, slices, stop and resume."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django_q.models import OrmQ

from console import operations, walk
from console.filters import JobFilter
from console.models import Operation
from console.operations import Request
from jobs.domain.access.caller import Caller
from jobs.domain.errors import Conflict, InvalidRequest, NotFound
from jobs.domain.states import State
from jobs.models import Audit, Job, Ready
from jobs.services.operate import bulk, operate
from jobs.services.read.find import find
from tests.asserts import assert_state, assert_store_is_sound
from tests.concurrency import aggregate_all
from tests.factories import JobFactory, stored_ids
from tests.jobs.worker.conftest import Spawn
from tests.processes import kill_family, until

WHO = Caller("console:operator", address="192.0.2.7")
NEW = "/console/operations/new/"


@pytest.fixture(autouse=True)
def clean(operator: User) -> None:
    """Remove all operations after the test, by the fixture `operator`."""


def dead(queue: str, **envelope: Any) -> str:
    """Put a job into the dead letter and return its id."""
    retry = {"on_exhaustion": "dead_letter"}
    job = JobFactory.create(state=State.DISCARDED, queue=queue, retry=retry, **envelope)
    return str(job.id)


def begin(verb: str, /, **asked: str) -> Operation:
    """Start an operation."""
    return operations.start(Request(verb, JobFilter.read(asked), "a drill"), WHO)


def run_tasks() -> list[str]:
    """Run the queued tasks as the cluster does; return the result of each task."""
    told: list[str] = []
    while queued := OrmQ.objects.order_by("id").first():
        arguments = queued.task["args"]
        queued.delete()
        told.append(operations.go_on(*arguments))
    return told


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each task run one slice of at most two jobs."""
    monkeypatch.setattr(walk, "SLICE", 2)
    clock = iter(range(10**6))
    monkeypatch.setattr(operations, "monotonic", lambda: next(clock) * 3.0)


@pytest.mark.usefixtures("short")
def test_retry_takes_what_was_dead_and_matches_when_it_began() -> None:
    ids = [dead(f"q{n}", type="mail.send") for n in range(5)]
    other = dead("other", type="other")
    operation = begin("retry", type="mail.send", dead="1")
    late = dead("late", type="mail.send")

    run_tasks()

    assert_state(State.AVAILABLE, *ids)
    assert_state(State.DISCARDED, other, late)
    operation.refresh_from_db()
    assert (operation.state, operation.matched, operation.done) == ("done", 5, 5)
    assert operation.slices >= 3
    assert_store_is_sound()


@pytest.mark.usefixtures("short")
def test_cancel_and_delete_take_the_state_that_was_chosen() -> None:
    ids = stored_ids(5, queue="mail")
    (other,) = stored_ids(1, queue="other")
    later = JobFactory.create(state=State.SCHEDULED, queue="mail")

    begin("cancel", state="available", queue="mail")
    run_tasks()
    assert_state(State.CANCELLED, *ids)
    operation = begin("delete", state="cancelled", queue="mail")
    run_tasks()

    operation.refresh_from_db()
    assert operation.done == 5
    assert_state(State.AVAILABLE, other)
    assert_state(State.SCHEDULED, later.id)
    assert not Job.objects.filter(id__in=ids).exists()
    assert_store_is_sound()


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    ("verb", "taken"),
    [
        ("cancel", {State.AVAILABLE, State.SCHEDULED}),
        ("retry", {State.DISCARDED, State.RETRYABLE}),
        ("delete", {State.COMPLETED, State.CANCELLED, State.DISCARDED}),
    ],
)
def test_without_a_state_a_verb_takes_what_needs_no_naming(verb: str, taken: set[State]) -> None:
    ids = {state: JobFactory.create(state=state, queue=state).id for state in State}
    before = {job_id: state for state, job_id in ids.items()}

    operation = begin(verb)
    run_tasks()

    operation.refresh_from_db()
    assert operation.done == len(taken)
    for job_id, state in before.items():
        if state not in taken:
            assert_state(state, job_id)


@pytest.mark.parametrize(
    ("name", "value", "odd"),
    [
        ("queue", "mail", {"queue": "mail"}),
        ("type", "mail.*", {"type": "mail.send"}),
        ("version", "2.*", {"version": "2.1.0"}),
        ("priority", "7", {"priority": 7}),
        ("args", "SOMEONE@example", {"args": ["someone@example.org"]}),
        ("meta", '"order": 42', {"meta": {"order": 42}}),
    ],
)
def test_an_operation_finds_what_the_list_finds(
    console: Client, name: str, value: str, odd: dict[str, Any]
) -> None:
    (wanted,) = stored_ids(1, **odd)
    others = stored_ids(3)
    listed = console.get(reverse("ojs_console:jobs"), {"state": "available", name: value})
    assert [job.id for job in listed.context["page"].jobs] == [wanted]

    begin("cancel", state="available", **{name: value})
    run_tasks()

    assert_state(State.CANCELLED, wanted)
    assert_state(State.AVAILABLE, *others)


def test_times_are_those_of_when_it_began() -> None:
    operation = begin("cancel", state="available", since="1h")
    frozen = operation.wanted["since"]
    assert frozen.endswith("Z")
    assert JobFilter.read(operation.wanted).wanted(timezone.now()).since is not None


def test_a_time_of_the_end_takes_no_live_job() -> None:
    ids = stored_ids(2)
    begin("cancel", by="ended", since="1h")
    run_tasks()
    assert_state(State.AVAILABLE, *ids)


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"since": "soon"}, InvalidRequest), ({"priority": "x"}, InvalidRequest),
        ({"state": "active", "by": "ended"}, InvalidRequest), ({"state": "completed"}, Conflict),
    ],
)  # fmt: skip
def test_what_cannot_be_read_begins_nothing(asked: dict[str, str], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        begin("cancel", **asked)
    assert not Operation.objects.exists()
    assert not OrmQ.objects.exists()
    assert not Audit.objects.exists()


@pytest.mark.usefixtures("short")
def test_a_task_that_comes_twice_or_late_does_nothing() -> None:
    stored_ids(6)
    operation = begin("cancel", state="available")
    first = OrmQ.objects.get().task["args"]
    operations.go_on(*first)
    operation.refresh_from_db()
    moved = (operation.slices, operation.done)

    assert operations.go_on(*first) == "complete"

    operation.refresh_from_db()
    assert (operation.slices, operation.done) == moved
    run_tasks()
    operation.refresh_from_db()
    assert (operation.state, operation.done) == ("done", 6)


@pytest.mark.usefixtures("short")
def test_a_slice_that_another_goes_is_left_to_it() -> None:
    stored_ids(3)
    operation = begin("cancel", state="available")
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT pg_advisory_xact_lock(%s::int, %s::int)",
                           [operations.LOCK, operation.pk])  # fmt: skip
        assert run_tasks() == ["complete"]
    finally:
        other.close()
    operation.refresh_from_db()
    assert operation.slices == 0


@pytest.mark.usefixtures("short")
def test_stopped_it_leaves_the_rest_and_goes_on_from_there() -> None:
    ids = stored_ids(6)
    operation = begin("cancel", state="available")
    operations.go_on(*OrmQ.objects.get().task["args"])

    operation = operations.stop(operation.pk, WHO)
    assert operation.state == "stopped"
    run_tasks()
    operation.refresh_from_db()
    assert operation.done == 2
    assert Ready.objects.count() == 4

    operations.resume(operation.pk, WHO)
    run_tasks()
    operation.refresh_from_db()
    assert (operation.state, operation.done) == ("done", 6)
    assert_state(State.CANCELLED, *ids)
    with pytest.raises(Conflict):
        operations.resume(operation.pk, WHO)
    with pytest.raises(Conflict):
        operations.stop(operation.pk, WHO)


@pytest.mark.usefixtures("short")
def test_a_stop_during_a_slice_counts_after_it() -> None:
    stored_ids(6)
    operation = begin("cancel", state="available")
    Operation.objects.filter(pk=operation.pk).update(is_stopping=True)  # as a concurrent stop does
    run_tasks()
    operation.refresh_from_db()
    assert (operation.state, operation.done, operation.is_stopping) == ("stopped", 0, True)


@pytest.mark.usefixtures("short")
def test_what_the_database_refuses_is_tried_again_and_then_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ids = stored_ids(4)
    operation = begin("cancel", state="available")
    act: Callable[..., set[str]] = bulk.act_on
    tries = iter(range(100))

    def refuse(*args: Any) -> set[str]:
        if next(tries) < operations.TRIES + 1:
            raise DatabaseError("deadlock detected\nDETAIL: more")
        return act(*args)

    monkeypatch.setattr(bulk, "act_on", refuse)
    run_tasks()
    operation.refresh_from_db()
    assert (operation.state, operation.problem, operation.done) == (
        "failed", "deadlock detected", 0,
    )  # fmt: skip
    assert Audit.objects.filter(action="jobs.bulk_failed").count() == 1

    operations.resume(operation.pk, WHO)  # the first try after the resume is refused as well
    run_tasks()
    operation.refresh_from_db()
    assert (operation.state, operation.problem, operation.done) == ("done", None, 4)
    assert_state(State.CANCELLED, *ids)


def test_jobs_that_were_removed_meanwhile_are_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "SLICE", 2)
    ids = [dead("q") for _ in range(5)]

    def find_and_lose(*args: Any, **options: Any) -> Any:
        found = find(*args, **options)
        for job_id in found.ids[-1:]:
            if job_id == ids[3]:
                operate.delete_job(job_id, WHO)
        return found

    monkeypatch.setattr(walk, "find", find_and_lose)
    operation = begin("retry", dead="1")
    run_tasks()
    operation.refresh_from_db()
    assert (operation.state, operation.done) == ("done", 4)
    assert_state(State.AVAILABLE, *ids[:3], ids[4])


def test_who_asked_why_and_what_came_of_it_is_audited() -> None:
    stored_ids(3, queue="mail")
    operation = begin("cancel", state="available", queue="mail")
    run_tasks()

    started, ended = Audit.objects.order_by("id")
    assert (started.action, ended.action) == ("jobs.bulk_cancel_started", "jobs.bulk_cancelled")
    for entry in (started, ended):
        assert (entry.actor, entry.address) == (WHO.name, WHO.address)
        assert (entry.target, entry.reason) == (f"operation {operation.pk}", "a drill")
        assert entry.data["filter"] == {"state": "available", "queue": "mail"}
    assert (ended.data["matched"], ended.data["cancelled"]) == (3, 3)


def test_who_is_bound_to_a_tenant_meets_its_jobs_alone() -> None:
    mine, theirs = (stored_ids(2, meta={"tenant_id": tenant}) for tenant in ("mine", "theirs"))
    bound = Caller("console:of-mine", tenant="mine")

    asked = JobFilter.read({"state": "available", "tenant": "theirs"})
    operation = operations.start(Request("cancel", asked), bound)
    run_tasks()

    assert_state(State.CANCELLED, *mine)
    assert_state(State.AVAILABLE, *theirs)
    other = Caller("console:of-theirs", tenant="theirs")
    for verb in (operations.stop, operations.resume):
        with pytest.raises(NotFound):
            verb(operation.pk, other)
    assert operations.latest("theirs", 10) == []
    assert [found.pk for found in operations.latest("mine", 10)] == [operation.pk]


def test_what_nobody_drives_is_picked_up_again() -> None:
    ids = stored_ids(3)
    operation = begin("cancel", state="available")
    OrmQ.objects.all().delete()  # the process was killed, and its task is lost

    operations.tend()
    assert not OrmQ.objects.exists()  # the operation may still run
    Operation.objects.update(moved_at=timezone.now() - timedelta(minutes=2))
    operations.tend()
    operations.tend()
    assert OrmQ.objects.count() == 1
    run_tasks()

    operation.refresh_from_db()
    assert operation.state == "done"
    assert_state(State.CANCELLED, *ids)


def test_old_operations_are_forgotten() -> None:
    old, new = begin("cancel", state="available"), begin("cancel", state="available")
    run_tasks()
    Operation.objects.filter(pk=old.pk).update(
        ended_at=timezone.now() - timedelta(days=operations.KEPT_DAYS + 1)
    )
    operations.tend()
    assert [one.pk for one in Operation.objects.all()] == [new.pk]


def test_a_killed_worker_costs_one_slice_and_no_job(spawn: Spawn) -> None:
    """Kill the whole cluster while a slice waits for a row: PostgreSQL undoes only this slice."""
    ids = stored_ids(1200, queue="mail")
    held = sorted(ids, reverse=True)[700]  # in the second slice
    operation = begin("cancel", state="available", queue="mail")
    _kill_a_cluster_that_waits_for(held, operation, spawn)
    operation.refresh_from_db()
    assert (operation.state, operation.slices, operation.done) == ("running", 1, 500)
    assert Ready.objects.count() == 700

    Operation.objects.update(moved_at=timezone.now() - timedelta(minutes=2))
    operations.tend()
    cluster = spawn("manage.py", "qcluster")
    until(lambda: Operation.objects.get().state == "done", "the rest")
    cluster.terminate()
    cluster.wait()

    operation.refresh_from_db()
    assert (operation.matched, operation.done) == (1200, 1200)
    assert_state(State.CANCELLED, *ids[:3], held, ids[-1])
    assert Audit.objects.filter(action="jobs.bulk_cancelled").count() == 1
    assert_store_is_sound()


def _kill_a_cluster_that_waits_for(job_id: str, operation: Operation, spawn: Spawn) -> None:
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT FROM ojs_ready WHERE id = %s FOR UPDATE", [job_id])
        cluster = spawn("manage.py", "qcluster")
        until(lambda: _is_waiting(operation), "the second slice")
        kill_family(cluster.pid)
        cluster.wait()
    finally:
        other.close()
    until(_nobody_waits, "the end of the killed slice")


def _is_waiting(operation: Operation) -> bool:
    operation.refresh_from_db()
    return operation.slices == 1 and _waiting() > 0


def _nobody_waits() -> bool:
    return _waiting() == 0


def _waiting() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return int(cursor.fetchone()[0])


# --- pages ----------------------------------------------------------------------------------------


def test_a_preview_counts_and_shows_before_anything_is_done(console: Client) -> None:
    ids = stored_ids(12, queue="mail", type="mail.send") + stored_ids(3, queue="other")
    aggregate_all()

    answer = console.get(NEW, {"verb": "cancel", "state": "available"})

    assert (answer.context["seen"].total.jobs, answer.context["seen"].total.is_exact) == (15, True)
    by_queue = {share.name: share.jobs for share in answer.context["shares"]["queue"]}
    assert by_queue == {"mail": 12, "other": 3}
    assert len(answer.context["samples"]) == 10
    assert_state(State.AVAILABLE, *ids)
    assert not Operation.objects.exists()


def test_the_pages_cost_a_fixed_number_of_statements(console: Client) -> None:
    stored_ids(60)
    operation = begin("cancel", state="available")
    for address in (
        f"{NEW}?{urlencode({'verb': 'cancel'})}", f"{NEW}?{urlencode({'verb': 'delete'})}",
        f"{NEW}?{urlencode({'verb': 'export', 'args': 'x'})}",
        reverse("ojs_console:operation", args=[operation.pk]), reverse("ojs_console:operations"),
    ):  # fmt: skip
        with CaptureQueriesContext(connection) as captured:
            assert console.get(address).status_code == 200
        assert len(captured) <= 15, address


def test_a_button_begins_it_and_shows_how_far_it_is(console: Client) -> None:
    cache.clear()  # the killed cluster of another test counts as running for three more seconds
    stored_ids(3, queue="mail")
    answer = console.post(NEW, {"verb": "cancel", "state": "available", "queue": "mail",
                                "reason": "wrong template"})  # fmt: skip
    operation = Operation.objects.get()
    address = reverse("ojs_console:operation", args=[operation.pk])
    assert answer["Location"] == address
    assert operation.reason == "wrong template"
    assert "no operator task cluster is running" in console.get(address).content.decode()
    run_tasks()
    page = console.get(address).content.decode()
    assert ">done<" in page
    assert "wrong template" in page


def test_buttons_stop_and_resume(console: Client) -> None:
    stored_ids(3)
    operation = begin("cancel", state="available")
    address = reverse("ojs_console:operation", args=[operation.pk])
    assert console.post(address, {"do": "stop"}).status_code == 302
    assert Operation.objects.get().state == "stopped"
    assert console.post(address, {"do": "stop"}).status_code == 409
    assert console.post(address, {"do": "resume"}).status_code == 302
    assert Operation.objects.get().state == "running"
    assert console.post(address, {"do": "explode"}).status_code == 404
    assert console.get(reverse("ojs_console:operation", args=[10**9])).status_code == 404


def test_what_cannot_begin_is_told(console: Client) -> None:
    answer = console.post(NEW, {"verb": "cancel", "state": "completed"})
    assert answer.status_code == 400
    assert "no completed job can be cancelled" in answer.content.decode().lower()
    assert console.get(NEW, {"verb": "explode"}).status_code == 404
    assert console.post(NEW, {"verb": "explode"}).status_code == 404


@pytest.mark.parametrize("verb", operations.VERBS)
def test_each_verb_takes_its_permission(viewer: User, verb: str) -> None:
    stored_ids(1)
    operation = begin(verb)
    client = Client()
    client.force_login(viewer)
    address = reverse("ojs_console:operation", args=[operation.pk])
    assert client.post(NEW, {"verb": verb}).status_code == 403
    assert client.post(address, {"do": "stop"}).status_code == 403
    assert client.get(address).status_code == 200
    assert 'name="do"' not in client.get(address).content.decode()
    assert "csrfmiddlewaretoken" not in _form(client.get(NEW, {"verb": verb}).content.decode())
    allowed = {"delete": "delete_job", "export": "add_operation"}.get(verb, "change_job")
    viewer.user_permissions.add(Permission.objects.get(codename=allowed))
    assert client.post(address, {"do": "stop"}).status_code == 302
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(viewer)
    assert strict.post(address, {"do": "resume"}).status_code == 403
    assert strict.post(NEW, {"verb": verb}).status_code == 403


def _form(page: str) -> str:
    return page.partition("<main")[2].partition("</main>")[0]


@pytest.mark.parametrize(
    ("state", "verbs"),
    [("", set()), ("available", {"cancel"}), ("active", {"cancel"}),
     ("retryable", {"cancel", "retry"}), ("discarded", {"retry", "delete"}),
     ("completed", {"delete"})],
)  # fmt: skip
def test_the_jobs_page_offers_what_can_be_done_to_all_of_a_state(
    console: Client, viewer: User, state: str, verbs: set[str]
) -> None:
    url = f"{reverse('ojs_console:jobs')}?state={state}"
    page = console.get(url).content.decode()
    assert {verb for verb in ("cancel", "retry", "delete") if f"verb={verb}" in page} == verbs
    assert "verb=export" in page
    watching = Client()
    watching.force_login(viewer)
    assert "operations/new" not in watching.get(url).content.decode()


def test_without_a_cluster_the_page_says_bulk_actions_will_not_start(console: Client) -> None:
    cache.clear()  # a cluster that has just ended still counts for some seconds
    page = console.get(reverse("ojs_console:dead_letter")).content.decode()
    assert "Bulk actions will not start" in page


def test_the_admin_shows_operations_and_views_and_changes_none(console: Client) -> None:
    begin("cancel", state="available")
    console.post(reverse("ojs_console:act", args=["view-save"]), {"page": "jobs", "name": "mine"})
    for name in ("operation", "savedview"):
        listed = console.get(reverse(f"admin:ojs_console_{name}_changelist"))
        (row,) = listed.context["cl"].result_list
        assert (
            console.get(reverse(f"admin:ojs_console_{name}_change", args=[row.pk])).status_code
            == 200
        )
        assert console.get(reverse(f"admin:ojs_console_{name}_add")).status_code == 403
