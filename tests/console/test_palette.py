"""The palette's results and the suggestions of filters: contents, permits, tenants and bounds."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from console import lookup
from console.roles import Role
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.services.operate.queues import pause
from jobs.services.outcome.nack import Nack, nack
from jobs.services.workers.heartbeat import Report, heartbeat
from scheduling.api.cron_codec import decode_definition
from scheduling.services import cron_register
from tenancy.domain.tenant import Definition, Standing
from tenancy.services import tenants
from tests.concurrency import aggregate_all
from tests.console.test_access import LogIn, job_of, log_in  # noqa: F401 - a fixture
from tests.cost import statements_of
from tests.factories import JobFactory, error, stored, stored_ids
from tests.workflows.flows import chain, created, job

PATH = reverse("ojs_console:palette")
ADA = Caller("ada")
MOST_STATEMENTS = 20  # ten of them find objects


def asked(client: Client, text: str, **more: str) -> list[dict[str, str]]:
    """Return the results for a text."""
    answer = client.get(PATH, {"q": text, **more})
    assert answer.status_code == 200, answer.content
    found: list[dict[str, str]] = answer.json()["results"]
    return found


def named(client: Client, text: str) -> list[tuple[str, str]]:
    """Return kind and name of the results for a text."""
    return [(one["kind"], one["name"]) for one in asked(client, text)]


def values(client: Client, of: str, text: str = "") -> list[str]:
    """Return the suggestions for a filter."""
    answer = client.get(PATH, {"of": of, "q": text})
    assert answer.status_code == 200, answer.content
    found: list[str] = answer.json()["values"]
    return found


def schedule(name: str, who: Caller = ADA) -> None:
    """Register a schedule."""
    template = {"type": "report", "args": []}
    body = {"name": name, "expression": "0 3 * * *", "job_template": template}
    cron_register.register(decode_definition(body), who, lambda _queue, _kind: None)


def of_each_kind(part: str) -> None:
    """Store an object of each kind with a part in its name."""
    stored(1, queue=f"{part}-queue", type=f"{part}.send")
    heartbeat(Report(f"{part}-worker", queues=("other",), concurrency=1))
    schedule(f"{part}-schedule")
    tenants.put(f"{part}-tenant", Definition())
    created(chain(job(), name=f"{part}-flow"))
    aggregate_all()


def test_a_part_of_a_name_finds_objects_of_each_kind(console: Client) -> None:
    of_each_kind("mail")
    of_each_kind("other")

    assert named(console, "mail") == [
        ("Queue", "mail-queue"), ("Type", "mail.send"), ("Tenant", "mail-tenant"),
        ("Worker", "mail-worker"), ("Schedule", "mail-schedule"), ("Workflow", "mail-flow"),
    ]  # fmt: skip
    for one in asked(console, "mail"):
        assert console.get(one["url"]).status_code == 200


def test_results_have_a_fact_and_the_forms_of_their_pages(console: Client) -> None:
    of_each_kind("mail")
    pause("mail-queue", ADA)
    tenants.put("mail-tenant", Definition(standing=Standing.SUSPENDED))

    found = {one["kind"]: one for one in asked(console, "mail")}

    facts = {kind: one["fact"] for kind, one in found.items()}
    workflow = found["Workflow"]["url"].strip("/")[-12:]
    assert facts == {
        "Queue": "paused", "Type": "0 starts in 7 d", "Tenant": "suspended", "Worker": "running",
        "Schedule": "0 3 * * *", "Workflow": f"running, …{workflow}",
    }  # fmt: skip
    verbs = {
        kind: [verb for verb in lookup_verbs() if f'"{verb}"' in one["forms"]]
        for kind, one in found.items()
    }
    assert verbs == {
        "Queue": [act("resume")], "Type": [], "Tenant": [act("tenant-resume")],
        "Worker": [act("quiet"), act("terminate")],
        "Schedule": [act("cron-trigger"), act("cron-pause")], "Workflow": [],
    }  # fmt: skip
    assert "data-needs-reason" in found["Tenant"]["forms"]
    assert "csrfmiddlewaretoken" in found["Queue"]["forms"]


def act(verb: str) -> str:
    """Return the path of an action."""
    return reverse("ojs_console:act", args=[verb])


def lookup_verbs() -> list[str]:
    """Return the paths of the actions that results may bring."""
    verbs = (
        "pause", "resume", "tenant-suspend", "tenant-resume", "quiet", "unquiet", "terminate",
        "cron-trigger", "cron-pause", "cron-resume",
    )  # fmt: skip
    return [act(verb) for verb in verbs]


@pytest.mark.parametrize(
    ("text", "name"),
    [("pause mail", "mail"), ("Resume queue mail", "mail"), ("run now mail", "mail"),
     ("pause", "pause-queue"), ("pause queue", "pause-queue"), ("quietly", "quietly")],
)  # fmt: skip
def test_an_action_before_the_name_searches_for_the_name(
    console: Client, text: str, name: str
) -> None:
    stored_ids(1, queue=name)

    assert ("Queue", name) in named(console, text)


def test_a_job_is_found_by_its_id_and_by_the_beginning_of_it(console: Client) -> None:
    first = JobFactory.create(state=State.DISCARDED, type="mail.send")

    for text in (
        first.id,
        first.id.upper(),
        first.id[:13],
        first.id[:8],
        first.id.replace("-", ""),
    ):
        (found,) = [one for one in asked(console, text) if one["kind"] == "Job"]
        assert found["name"] == first.id
        assert found["url"] == reverse("ojs_console:job", args=[first.id])
        assert found["fact"] == "discarded, mail.send"
    for text in (first.id[:7], f"{first.id}0", "deadbeef"):
        assert [one for one in asked(console, text) if one["kind"] == "Job"] == []


def test_results_are_limited_and_only_the_first_bring_actions(console: Client) -> None:
    for n in range(9):
        stored_ids(1, queue=f"mail-{n}")

    found = [one for one in asked(console, "mail") if one["kind"] == "Queue"]

    assert [one["name"] for one in found] == [f"mail-{n}" for n in range(lookup.SIZE)]
    assert [bool(one["forms"]) for one in found] == [n < lookup.ACTED for n in range(lookup.SIZE)]


def test_the_number_of_statements_is_fixed(console: Client) -> None:
    def cost(text: str) -> int:
        return statements_of(lambda: console.get(PATH, {"q": text}))

    of_each_kind("mail0")
    before = cost("mail")
    for n in range(1, 4):
        of_each_kind(f"mail{n}")

    assert cost("absent") <= cost("mail") == before <= MOST_STATEMENTS
    (job_id,) = stored_ids(1)
    assert cost(job_id) <= MOST_STATEMENTS


def test_nothing_is_searched_without_a_text(console: Client) -> None:
    stored_ids(1)

    assert asked(console, "") == asked(console, " \x00 ") == []


def test_a_user_sees_and_may_only_what_the_permits_allow(viewer: User) -> None:
    of_each_kind("mail")
    client = Client()
    client.force_login(viewer)

    kinds = [one["kind"] for one in asked(client, "mail")]
    assert kinds == ["Queue", "Type", "Tenant", "Schedule", "Workflow"]
    assert not any(one["forms"] for one in asked(client, "mail"))

    viewer.user_permissions.add(
        *Permission.objects.filter(codename__in=["view_worker", "change_queue"])
    )
    found = {one["kind"]: one["forms"] for one in asked(client, "mail")}
    assert act("pause") in found["Queue"]
    assert found["Worker"] == ""


def test_a_read_only_console_offers_no_actions(console: Client, settings: Any) -> None:
    settings.OJS_CONSOLE = {"READ_ONLY": True}
    of_each_kind("mail")

    assert len(asked(console, "mail")) == 6
    assert not any(one["forms"] for one in asked(console, "mail"))


def test_strangers_get_nothing(store: None) -> None:
    stored_ids(1, queue="mail")
    answer = Client().get(PATH, {"q": "mail"})

    assert answer.status_code == 302
    assert answer["Location"].startswith("/console/login/")


def test_a_restricted_user_finds_the_things_of_its_tenant_alone(log_in: LogIn) -> None:  # noqa: F811
    client = log_in(Role.ADMIN, "blue")
    own = job_of("blue", queue="mail-blue", type="mail.blue")
    other = job_of("red", queue="mail-red", type="mail.red")
    for tenant in ("blue", "red"):
        tenants.put(tenant, Definition())
        schedule(f"mail-{tenant}", Caller("ada", tenant))
        created(chain(job(), name=f"mail-flow-{tenant}"), Caller("ada", tenant))
    heartbeat(Report("mail-worker", queues=("other",), concurrency=1))
    aggregate_all()

    assert named(client, "mail") == [
        ("Queue", "mail-blue"), ("Schedule", "mail-blue"), ("Workflow", "mail-flow-blue")
    ]  # fmt: skip
    assert named(client, "blue")[1] == ("Tenant", "blue")
    assert named(client, "red") == []
    assert named(client, own.id) == [("Job", own.id)]
    assert named(client, other.id) == []
    assert other.id not in {one["name"] for one in asked(client, own.id[:8])}
    forms = {one["kind"]: one["forms"] for one in asked(client, "mail")}
    assert forms["Queue"] == ""
    assert act("cron-trigger") in forms["Schedule"]


@pytest.mark.parametrize(
    ("query", "field"),
    [({"q": "x" * 10_000}, "q"), ({"q": "x" * 201}, "q"), ({"of": "args"}, "of"),
     ({"of": "\x00"}, "of"), ({"of": "queue", "q": "x" * 201}, "q")],
)  # fmt: skip
def test_bad_input_is_refused_by_its_field(console: Client, query: Any, field: str) -> None:
    answer = console.get(PATH, query)

    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert answer.json()["error"].startswith(f"{field} must ")


@pytest.mark.parametrize("text", ["\x00mail", "%", "_", "\\", "'; --", "*", "\u0130", "-" * 40])
def test_any_text_is_answered(console: Client, text: str) -> None:
    stored_ids(1, queue="mail")

    assert isinstance(asked(console, text), list)
    for field in lookup.FIELDS:
        assert isinstance(values(console, field, text), list)


def test_a_name_with_html_is_text_in_the_forms(console: Client) -> None:
    name = "mail<b onclick='x'>"
    heartbeat(Report(name, queues=("other",), concurrency=1))

    (found,) = asked(console, "mail<b")

    assert found["name"] == name
    assert "<b onclick" not in found["forms"]
    assert "mail&lt;b" in found["forms"]


# Suggestions of filters


def test_filters_suggest_the_values_that_exist(console: Client) -> None:
    of_each_kind("mail")
    stored_ids(1, queue="other", version="2.1.0")
    failed = JobFactory.create(state=State.ACTIVE, queue="failing")
    nack([Nack(failed.id, error(type="LookupError", retryable=False))])

    assert values(console, "queue", "MAIL") == ["mail-queue"]
    assert values(console, "type", "mail.*") == values(console, "type", "mail") == ["mail.send"]
    assert "mail-tenant" in values(console, "tenant")
    assert values(console, "version") == ["2.1.0"]
    assert values(console, "error_type", "lookup") == ["LookupError"]


def test_suggestions_are_limited(console: Client) -> None:
    for n in range(lookup.SUGGESTED + 5):
        stored_ids(1, queue=f"mail-{n}")

    assert len(values(console, "queue")) == lookup.SUGGESTED


def test_suggestions_of_a_restricted_user_are_of_its_tenant(log_in: LogIn) -> None:  # noqa: F811
    client = log_in(Role.VIEWER, "blue")
    for tenant in ("blue", "red"):
        facts = {"queue": f"mail-{tenant}", "type": f"mail.{tenant}", "version": f"1.{len(tenant)}"}
        failed = job_of(tenant, state=State.ACTIVE, **facts)
        nack([Nack(failed.id, error(type=f"{tenant}Error", retryable=False))])
    aggregate_all()

    assert values(client, "queue") == ["mail-blue"]
    assert values(client, "type") == ["mail.blue"]
    assert values(client, "tenant") == ["blue"]
    assert values(client, "version") == ["1.4"]
    assert values(client, "error_type") == ["blueError"]


@pytest.mark.parametrize("page", ["jobs", "dead_letter"])
def test_lists_of_jobs_have_a_place_for_suggestions(console: Client, page: str) -> None:
    shown = console.get(reverse(f"ojs_console:{page}")).content.decode()

    for field in lookup.FIELDS:
        assert f'<datalist id="some-{field}">' in shown
        assert f'list="some-{field}"' in shown
