"""A database of the last release with every kind of row, after `firststart` of this release."""

import json
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from psycopg import sql

from jobs import SERVES, VERSION, queries
from jobs.loops import all_loops, run_once
from jobs.services.health import health
from jobs.services.storage import schema
from ojs_project.postgres import bin_dir
from tests.upgrade import release
from tests.upgrade.conftest import Enter, Make, firststart

pytestmark = pytest.mark.xdist_group("upgrade")  # one process makes the databases

# Django adds rows here after each migrate; a release may change permissions and functions
GROWING = {
    "auth_permission", "django_content_type", "django_migrations", "auth_group_permissions",
    "ojs_function",
}  # fmt: skip
MOST_PAGES = 150


@pytest.fixture
def api(databases: Make, upgraded: str, entered: Enter) -> Iterator[Client]:
    """Return a client of this release on an upgraded database of the test's own."""
    with entered(databases(upgraded)):
        yield Client(headers={"Host": "localhost"})


def send(client: Client, method: str, path: str, body: Any = None) -> dict[str, Any]:
    """Send a request and return the answer, which must be a success."""
    answer = client.generic(
        method, f"/ojs/v1/{path}", json.dumps(body or {}), content_type="application/json"
    )
    assert 200 <= answer.status_code < 300, (path, answer.status_code, answer.content)
    found: dict[str, Any] = json.loads(answer.content)
    return found


def counts(url: str) -> dict[str, int]:
    """Return the number of rows of every table."""
    with psycopg.connect(url) as session:
        names = session.execute(
            "SELECT relname::text FROM pg_class WHERE relkind = 'r'"
            " AND relnamespace = 'public'::regnamespace"
        ).fetchall()
        return {
            name: session.execute(
                sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name))
            ).fetchall()[0][0]
            for (name,) in names
        }


def test_the_stored_database_is_of_the_release_before_and_has_a_row_in_every_table() -> None:
    assert release.version() == SERVES
    assert [table for table, rows in release.tables().items() if not rows] == []


def test_a_database_before_its_upgrade_is_not_ready(restored: str, entered: Enter) -> None:
    with entered(restored):
        assert schema.lacking() != []


def test_every_row_is_still_there(restored: str, upgraded: str) -> None:
    before, after = counts(restored), counts(upgraded)

    assert {name: after.get(name) for name in before if name not in GROWING} == {
        name: rows for name, rows in before.items() if name not in GROWING
    }


def test_the_tables_are_those_of_a_new_database(upgraded: str, database_url: str) -> None:
    assert definition(upgraded) == definition(database_url)


@pytest.mark.parametrize("version", release.older())
def test_a_database_of_an_older_release_upgrades_at_once(
    version: str, databases: Make, upgraded: str
) -> None:
    url = databases("@/template0?")
    release.restore(url, version)
    before = counts(url)

    done = firststart(url)

    after = counts(url)
    assert done.returncode == 0, done.stderr
    assert {name: after.get(name) for name in before if name not in GROWING} == {
        name: rows for name, rows in before.items() if name not in GROWING
    }
    assert definition(url) == definition(upgraded)


def definition(url: str) -> list[str]:
    """Return the statements that make the tables and functions of a database."""
    done = subprocess.run(
        [bin_dir() / "pg_dump", "--schema-only", "--no-owner", "--schema", "public", url],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [line for line in done.stdout.splitlines() if line and line[0] not in {"-", "\\"}]


def test_the_upgraded_database_lacks_nothing(api: Client) -> None:
    health._nothing_is_lacking.cache_clear()

    answer = api.get("/ready")

    assert schema.lacking() == []
    assert queries.release() == (VERSION, SERVES)
    assert (answer.status_code, answer.json()["checks"]["migrations"]) == (200, "ok")
    call_command("makemigrations", "--check", "--dry-run", stdout=StringIO())


def test_jobs_of_before_are_fetched_ended_and_retried(api: Client) -> None:
    dead = send(api, "GET", "dead-letter")["jobs"][0]["id"]
    send(api, "POST", f"dead-letter/{dead}/retry")
    wanted = {"queues": ["waiting", "flows", "mail", "reports", "invoices", "results"], "count": 80}

    taken = send(api, "POST", "workers/fetch", {**wanted, "worker_id": "new"})["jobs"]
    first, second, *others = taken
    send(api, "POST", "workers/ack", {"job_id": first["id"], "worker_id": "new", "result": 1})
    error = {"type": "Broken", "message": "again"}
    send(api, "POST", "workers/nack", {"job_id": second["id"], "worker_id": "new", "error": error})
    for job in others:
        send(api, "POST", "workers/ack", {"job_id": job["id"], "worker_id": "new"})

    assert len(taken) == 80
    assert {job["queue"] for job in taken} >= {"waiting", "flows"}
    states = [send(api, "GET", f"jobs/{job['id']}")["job"]["state"] for job in taken[:3]]
    assert states == ["completed", "retryable", "completed"]


def test_workflows_of_before_go_on_to_their_ends(api: Client) -> None:
    while jobs := send(
        api, "POST", "workers/fetch", {"queues": ["flows"], "count": 100, "worker_id": "new"}
    )["jobs"]:
        for job in jobs:
            send(api, "POST", "workers/ack", {"job_id": job["id"], "worker_id": "new"})

    found = send(api, "GET", "workflows")["workflows"]
    assert {flow["state"] for flow in found} == {"completed"}
    assert len(found) == 4


def test_loops_count_what_was_left_and_find_no_drift(api: Client) -> None:
    run_once([loop.name for loop in all_loops() if not loop.name.startswith("federation_")])
    out = StringIO()

    call_command("ojs", "reconcile", stdout=out)

    assert out.getvalue() == "0 counts differed from the jobs.\n"


class Links(HTMLParser):
    """Collect the pages that a page of the console links to."""

    def __init__(self) -> None:
        """Start without links."""
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the target of a link."""
        target = dict(attrs).get("href") or ""
        # the page of a new operation needs the filter that its link carries in the query
        if tag == "a" and target.startswith("/console/") and "operations/new" not in target:
            self.found.append(target.partition("?")[0].partition("#")[0])


def test_every_page_of_the_console_shows_what_was_there(api: Client) -> None:
    api.force_login(User.objects.get(username="admin"))
    seen: dict[str, int] = {}
    waiting = ["/console/"]

    while waiting and len(seen) < MOST_PAGES:
        path = waiting.pop(0)
        answer = api.get(path)
        seen[path] = answer.status_code
        links = Links()
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            links.feed(answer.content.decode())
        waiting += [one for one in dict.fromkeys(links.found) if one not in {*seen, *waiting}]

    assert {path: status for path, status in seen.items() if status != 200} == {}
    assert len(seen) > 40


@pytest.mark.parametrize("model", ["ojs_jobs/job", "ojs_tenancy/tenant", "ojs_jobs/audit"])
def test_pages_of_the_admin_show_what_was_there(api: Client, model: str) -> None:
    api.force_login(User.objects.get(username="admin"))

    assert api.get(f"/admin/{model}/").status_code == 200
