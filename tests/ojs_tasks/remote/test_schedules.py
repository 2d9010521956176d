"""Schedules in code over HTTP, against a real server."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from ojs_tasks.codecs import Encryption, Key, KeyRing
from ojs_tasks.codecs.coding import Coding
from ojs_tasks.codecs.server import CodedServer
from ojs_tasks.exceptions import Refused
from ojs_tasks.remote import schedules
from ojs_tasks.remote.server import RemoteServer
from ojs_tasks.server import Reconciled
from scheduling.domain.definition import Definition
from scheduling.models import CronEntry
from scheduling.services import cron_register
from scheduling.services.cron_declared import reconcile
from tests.conftest import free_port
from tests.ojs_tasks.remote.between import Between, Fault
from tests.ojs_tasks.remote.conftest import Site
from tests.ojs_tasks.remote.project import Project
from tests.processes import until
from tests.scheduling.conftest import ANYBODY, allow_all, entry, registered
from tests.spec import spec

TAKEN = "the name is taken by a schedule of"
SCHEDULE = """

from ojs_tasks import periodic

@periodic("@yearly", timezone="Europe/Berlin")
@job("shop.yearly", queue="shop")
def yearly() -> None: ...
"""


def body(name: str, expression: str = "0 6 * * *", **template: Any) -> dict[str, Any]:
    """Return the request of a schedule, as `@periodic` makes it."""
    return {
        "name": name,
        "expression": expression,
        "timezone": "UTC",
        "overlap_policy": "skip",
        "job_template": {"type": "shop.report", "args": [], **template},
    }


def done(**members: Any) -> Reconciled:
    """Return a result."""
    return Reconciled(**{"added": [], "changed": [], "removed": [], **members})


def names() -> list[str]:
    """Return the names of all stored schedules."""
    return sorted(CronEntry.objects.values_list("name", flat=True))


def test_schedules_become_those_in_code(
    remote: RemoteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules, "PAGE", 2)
    first = [body("a", queue="q", meta={"x": 1}), body("b"), body("c", priority=5)]
    assert remote.reconcile_schedules("shop", first) == done(added=["a", "b", "c"])
    before = dict(CronEntry.objects.values_list("name", "updated_at"))

    assert remote.reconcile_schedules("shop", first) == done()
    second = [first[0], body("c"), body("d", "@every 1h", args=(1, [2]))]
    assert remote.reconcile_schedules("shop", second) == done(
        added=["d"], changed=["c"], removed=["b"]
    )

    assert names() == ["a", "c", "d"]
    assert entry("a").updated_at == before["a"]
    assert entry("a").template["meta"] == {"x": 1, "ojs_project": "shop"}
    assert "priority" not in entry("c").template
    assert remote.reconcile_schedules("shop", []) == done(removed=["a", "c", "d"])


@spec("contract 35")
def test_encoded_arguments_are_compared_by_their_digest(remote: RemoteServer) -> None:
    coding = Coding([Encryption(KeyRing.of(Key("2026", b"k" * 32)))], digest_key=b"d" * 32)
    coded = CodedServer(remote, coding)

    assert coded.reconcile_schedules("shop", [body("a", args=["one"])]) == done(added=["a"])
    stored = entry("a").template
    assert coded.reconcile_schedules("shop", [body("a", args=["one"])]) == done()
    assert entry("a").template == stored
    assert coded.reconcile_schedules("shop", [body("a", args=["two"])]) == done(changed=["a"])

    assert stored["args"][0]["ojs_encoded"] is True


def test_a_paused_schedule_stays_paused(remote: RemoteServer) -> None:
    remote.reconcile_schedules("shop", [body("a")])
    cron_register.switch("a", ANYBODY, allow_all, enabled=False)

    assert remote.reconcile_schedules("shop", [body("a", "@hourly")]) == done(changed=["a"])

    assert (entry("a").expression, entry("a").enabled) == ("@hourly", False)


def test_schedules_of_others_stay(remote: RemoteServer) -> None:
    registered(name="of-api")
    template = {"type": "tests.cron", "args": [], "meta": {}, "options": {}}
    reconcile("local", [Definition("of-code", "@daily", template=template)])
    remote.reconcile_schedules("other", [body("of-other")])
    before = list(CronEntry.objects.order_by("name").values())

    wanted = [body(name, "@hourly") for name in ("of-api", "of-code", "of-other")]
    found = remote.reconcile_schedules("shop", wanted)
    assert remote.reconcile_schedules("shop", []) == done()

    assert found == done(
        refused={
            "of-api": f"{TAKEN} the API, the console or the server itself",
            "of-code": f"{TAKEN} the API, the console or the server itself",
            "of-other": f"{TAKEN} project other",
        }
    )
    assert list(CronEntry.objects.order_by("name").values()) == before


def test_a_refused_schedule_keeps_its_old_definition(remote: RemoteServer) -> None:
    remote.reconcile_schedules("shop", [body("a"), body("b")])

    found = remote.reconcile_schedules("shop", [body("a", "61 * * * *"), body("b", "@hourly")])

    assert (found.changed, found.removed, list(found.refused)) == (["b"], [], ["a"])
    assert "minute" in found.refused["a"]
    assert entry("a").expression == "0 6 * * *"


def test_a_key_of_all_tenants_leaves_their_schedules(
    site: Site, remote: RemoteServer, make_key: Callable[..., str]
) -> None:
    bound = RemoteServer({"SERVER": site.url, "API_KEY": make_key("admin", tenant="north")})
    with closing(bound):
        assert bound.reconcile_schedules("shop", [body("a")]).added == ["a"]
        remote.reconcile_schedules("else", [body("z")])

        assert remote.reconcile_schedules("shop", [body("a")]).added == ["a"]
        assert remote.reconcile_schedules("shop", []).removed == ["a"]

        assert list(CronEntry.objects.values_list("tenant", "name").order_by("name")) == [
            ("north", "a"), (None, "z"),
        ]  # fmt: skip
        assert bound.reconcile_schedules("shop", []).removed == ["a"]


def test_lost_answers_do_no_harm(behind: RemoteServer, between: Between) -> None:
    between.faults = [Fault("POST", "/cron")]
    assert behind.reconcile_schedules("shop", [body("a")]) == done(added=["a"])

    between.faults = [Fault("DELETE", "/cron/a")]
    assert behind.reconcile_schedules("shop", []) == done(removed=["a"])

    assert names() == []


def test_a_key_without_the_scopes_is_refused(site: Site, make_key: Callable[..., str]) -> None:
    server = RemoteServer({"SERVER": site.url, "API_KEY": make_key("worker")})

    with closing(server), pytest.raises(Refused) as caught:
        server.reconcile_schedules("shop", [body("a")])

    assert caught.value.code == "permission_denied"


# --- the worker


@pytest.fixture
def scheduled(host: Project) -> Project:
    """Return the host project with a schedule."""
    for path, text in [
        ("shop/ojs_jobs.py", SCHEDULE), ("host_settings.py", 'OJS["PROJECT"] = "shop"\n'),
    ]:  # fmt: skip
        with (host.folder / path).open("a") as file:
            file.write(text)
    return host


def run(project: Project, *options: str) -> tuple[int, str]:
    """Run a worker to its end; return its exit code and its log lines."""
    process = project.start("manage.py", "runworker", *options)
    _, lines = process.communicate()
    return process.returncode, lines


def test_a_worker_registers_the_schedules(scheduled: Project) -> None:
    code, lines = run(scheduled, "--once")

    assert (code, names()) == (0, ["shop.yearly"]), lines
    assert entry("shop.yearly").timezone == "Europe/Berlin"
    assert "schedules.reconciled" in lines


def test_a_worker_registers_while_it_runs(scheduled: Project) -> None:
    scheduled.start("manage.py", "runworker")

    until(lambda: names() == ["shop.yearly"])


def test_no_schedules_leaves_them(scheduled: Project) -> None:
    assert run(scheduled, "--once", "--no-schedules")[0] == 0
    assert names() == []


def test_a_worker_without_the_scopes_names_the_schedules_and_works(
    scheduled: Project, make_key: Callable[..., str]
) -> None:
    (scheduled.folder / "key").write_text(make_key("worker"))

    code, lines = run(scheduled, "--once")

    assert (code, names()) == (0, [])
    (line,) = [line for line in lines.splitlines() if "schedules.refused" in line]
    assert "shop.yearly" in line


def test_a_worker_without_a_server_tries_again(
    scheduled: Project, site: Site, between: Between
) -> None:
    busy = b'{"error": {"code": "backend_unavailable", "message": "away", "retryable": true}}'
    long = {"Retry-After": "60"}  # left to the caller
    between.faults = [Fault("GET", "/cron?limit=200&offset=0", 503, long, busy)]
    process = scheduled.start("manage.py", "runworker", "--server", between.url)

    until(lambda: names() == ["shop.yearly"])

    process.terminate()
    _, lines = process.communicate()
    assert "schedules.failed" in lines
    assert not between.faults


def test_schedules_of_a_project_without_a_name_are_an_error(scheduled: Project) -> None:
    with (scheduled.folder / "host_settings.py").open("a") as file:
        file.write('OJS["PROJECT"] = None\n')
    code, lines = run(scheduled, "--once", "--server", f"http://127.0.0.1:{free_port()}")

    assert code == 1
    assert "set OJS['PROJECT']" in lines
