"""Adoption of jobs and removal of copies in the console. Spec: contract 23.6."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django_q.models import OrmQ

from console import operations, region_operations
from console.models import Operation
from console.roles import Role
from federation.models import FederatedJob
from federation.services.registry.configure import delete_region
from jobs.domain.access.caller import Caller
from jobs.models import Audit
from jobs.models import Job as Row
from tests.cost import statements_of
from tests.federation.replication.lost import federate, lost, set_status
from tests.federation.replication.rig import EU, replica, replicate

pytestmark = pytest.mark.usefixtures("store")

PATH = "/console/regions/eu/adopt/"


@pytest.fixture
def operator() -> Iterator[Client]:
    """Return a client of a superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    yield client
    User.objects.all().delete()
    Operation.objects.all().delete()
    OrmQ.objects.all().delete()


def shown(client: Client, path: str = PATH) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def go(operation: Operation) -> Operation:
    """Run all slices of an operation."""
    operations.go_on(operation.pk, operation.slices)
    operation.refresh_from_db()
    return operation


def begin(client: Client, path: str = PATH, **form: str) -> Operation:
    answer = client.post(path, {"reason": "eu burns", **form})
    assert answer.status_code == 302, answer.content.decode()
    made = Operation.objects.latest("pk")
    assert answer["Location"] == f"/console/operations/{made.pk}/"
    return made


def test_nothing_is_adopted_from_a_region_without_waiting_jobs(operator: Client) -> None:
    button = '<button class="danger" disabled aria-describedby="none">Adopt waiting jobs</button>'
    federate(mode="full")
    assert button in shown(operator)

    lost()

    assert button not in shown(operator)


def test_page_counts_what_can_be_adopted_and_what_stays(operator: Client) -> None:
    federate(mode="full")
    for n in range(3):
        lost(queue=f"q{n % 2}")
    lost(bound_to="region")
    replicate(replica(bound_to="extension"), replica())

    page = shown(operator)

    assert "<strong>3</strong> jobs can be adopted" in page
    found = operator.get(PATH).context["found"]
    assert (found.waiting, dict(found.kept)) == (
        6, {"pinned": 1, "followed": 1, "without_payload": 1, "superseded": 0},
    )  # fmt: skip
    assert found.queues == [("q0", 2), ("q1", 1)]
    assert operator.get(PATH, {"queue": "q1"}).context["found"].adoptable == 1
    assert "is not the name of a queue" in shown(operator, f"{PATH}?queue=_x")
    assert Row.objects.count() == 0


def test_jobs_are_adopted_in_slices_with_progress_and_one_entry_in_the_audit_log(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(region_operations, "SLICE", 2)
    federate(mode="full")
    for _ in range(5):
        lost()
    lost(bound_to="region")

    made = begin(operator)
    assert (made.state, made.estimate, made.is_exact) == ("running", 6, True)
    assert "0 of 6" in shown(operator, f"/console/operations/{made.pk}/")
    go(made)

    assert (made.state, made.matched, made.done) == ("done", 6, 5)
    assert Row.objects.count() == 5
    page = shown(operator, f"/console/operations/{made.pk}/")
    assert "1 pinned" in page
    assert "<b>region</b> eu" in page
    actions = [
        (one.action, one.reason)
        for one in Audit.objects.filter(action__startswith="federation.").order_by("id")
        if "adopt" in one.action
    ]
    assert actions == [
        ("federation.region_adopt_started", "eu burns"),
        ("federation.region_adopted", "eu burns"),
    ]
    assert "Adopt" in shown(operator, "/console/operations/")


def test_jobs_of_one_queue_alone_are_adopted(operator: Client) -> None:
    federate(mode="full")
    lost(queue="a")
    lost(queue="b")

    go(begin(operator, queue="a"))

    assert [one.queue for one in Row.objects.all()] == ["a"]


def test_region_that_answers_takes_a_second_word(operator: Client) -> None:
    federate(mode="full")
    lost()
    set_status(EU, "healthy")

    assert "eu may still be running" in shown(operator)
    refused = operator.post(PATH, {"reason": "x"})
    assert refused.status_code == 409
    assert "run twice" in refused.content.decode()
    assert go(begin(operator, force="1")).done == 1


def test_region_that_returns_meanwhile_ends_the_operation_which_may_go_on_later(
    operator: Client,
) -> None:
    federate(mode="full")
    lost()
    made = begin(operator)
    set_status(EU, "healthy")

    go(made)

    assert (made.state, made.done) == ("failed", 0)
    assert "run twice" in (made.problem or "")
    set_status(EU, "unhealthy")
    operations.resume(made.pk, Caller("root"))
    made.refresh_from_db()
    assert go(made).done == 1


def test_reason_has_to_be_given(operator: Client) -> None:
    federate(mode="full")

    answer = operator.post(PATH, {"reason": " "})

    assert answer.status_code == 400
    assert Operation.objects.count() == 0


def test_page_of_this_region_and_of_none_says_so(operator: Client) -> None:
    federate(mode="full")

    assert "must be another region" in shown(operator, "/console/regions/us/adopt/")
    assert operator.get("/console/regions/mars/adopt/").status_code == 404
    assert operator.get("/console/regions/%00/adopt/").status_code == 400


def test_copies_of_a_region_that_is_gone_are_removed(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(region_operations, "SLICE", 2)
    federate()
    replicate(*[replica() for _ in range(5)])
    blocked = shown(operator, "/console/regions/eu/forget/")
    assert "is registered" in blocked
    assert "DELETE /ojs/v1/admin/federation/regions/eu" in blocked
    delete_region(EU)
    assert "/console/regions/eu/forget/" in shown(operator, "/console/regions/")
    assert "<strong>5</strong> copies" in shown(operator, "/console/regions/eu/forget/")

    made = go(begin(operator, "/console/regions/eu/forget/"))

    assert (made.state, made.matched, made.done) == ("done", 5, 5)
    assert FederatedJob.objects.count() == 0
    assert Audit.objects.filter(action="federation.region_forgotten").exists()
    assert operator.get("/console/regions/eu/forget/").status_code == 404


@pytest.mark.parametrize(
    ("role", "adopts", "forgets"),
    [(Role.VIEWER, 403, 403), (Role.OPERATOR, 302, 403), (Role.ADMIN, 302, 302)],
)
def test_operators_adopt_and_admins_remove(
    operator: Client, role: Role, adopts: int, forgets: int
) -> None:
    federate(mode="full")
    replicate(replica(origin_region="ap"))
    delete_region("ap")
    user = User.objects.create_user("somebody")
    user.groups.set([Group.objects.get(name=role.group)])
    client = Client()
    client.force_login(user)

    assert ("account lacks the permission" in shown(client)) == (adopts == 403)
    assert client.post(PATH, {"reason": "x"}).status_code == adopts
    assert client.post("/console/regions/ap/forget/", {"reason": "x"}).status_code == forgets


def test_pages_cost_the_same_however_many_jobs_there_are(operator: Client) -> None:
    def cost(path: str) -> int:
        return statements_of(lambda: shown(operator, path))

    federate(mode="full")
    lost()
    replicate(replica(origin_region="ap"))
    delete_region("ap")
    paths = (PATH, "/console/regions/", "/console/regions/ap/forget/")
    before = [cost(path) for path in paths]
    for n in range(20):
        lost(queue=f"q{n}")

    assert [cost(path) for path in paths] == before
    assert max(before) <= 15
