"""Lists and pages that a hot standby serves, and the return to the database itself."""

from collections.abc import Callable

import httpx
import pytest

from tests.processes import until
from tests.replica.conftest import CURRENT, LAG, Pair, Site, ask, promote

pytestmark = pytest.mark.xdist_group("replica")
Serve = Callable[..., Site]


def test_a_list_comes_from_the_standby_and_names_its_lag(pair: Pair, serve: Serve) -> None:
    site = serve()
    first = site.enqueue()
    pair.catch_up()
    ask(pair.standby, "SELECT pg_wal_replay_pause()")

    second = site.enqueue()
    until(lambda: site.listed()[1] is not None, "the first look at the standby")
    found, lag = site.listed()

    assert found == [first]
    assert lag is not None
    assert int(lag) >= 0
    # a client that needs the latest data, and the job itself
    assert site.listed(**CURRENT) == ([second, first], None)
    answer = site.client.get(f"/ojs/v1/jobs/{second}")
    assert (answer.status_code, "x-ojs-replica-lag-ms" in answer.headers) == (200, False)

    ask(pair.standby, "SELECT pg_wal_replay_resume()")
    until(lambda: site.listed()[0] == [second, first], "the second job on the standby")


def test_a_late_standby_serves_nothing(pair: Pair, serve: Serve) -> None:
    site = serve(OJS_REPLICA_MAX_LAG_MS="0")
    pair.catch_up()
    ask(pair.standby, "SELECT pg_wal_replay_pause()")
    job_id = site.enqueue()

    until(lambda: 'outcome="late"' in site.reads(), "a look at the late standby")

    assert site.listed() == ([job_id], None)


@pytest.mark.long
def test_the_database_serves_lists_while_the_standby_is_away_or_promoted(
    pair: Pair, serve: Serve
) -> None:
    site = serve()
    first = site.enqueue()
    pair.catch_up()
    until(lambda: site.listed()[1] is not None, "the first look at the standby")

    pair.standby.stop(immediately=True)
    assert site.listed() == ([first], None)

    pair.standby.start()
    until(lambda: site.listed()[1] is not None, "the return of the standby")
    promote(pair.standby)
    second = site.enqueue()
    until(lambda: site.listed() == ([second, first], None), "the end of its reads")
    assert "ojs_replica_usable 0.0" in site.client.get("/metrics").text


def test_what_the_standby_lacks_is_found_in_the_database(pair: Pair, serve: Serve) -> None:
    site = serve(OJS_REPLICA_MAX_LAG_MS="3600000")  # a busy machine must not make it late
    pair.catch_up()
    ask(pair.standby, "SELECT pg_wal_replay_pause()")
    made = site.client.put("/ojs/v1/admin/tenants/acme", json={"name": "Acme Ltd"})
    assert made.status_code in {200, 201}, made.text
    until(lambda: site.listed()[1] is not None, "the first look at the standby")

    found = site.client.get("/ojs/v1/admin/tenants/acme/stats")

    assert (found.status_code, found.headers.get(LAG)) == (200, None)
    assert site.client.get("/ojs/v1/admin/tenants/nobody/stats").status_code == 404
    assert 'outcome="missing"' in site.reads()


@pytest.mark.long
def test_an_old_primary_that_has_not_joined_since_the_failover_serves_nothing(
    pair: Pair, serve: Serve
) -> None:
    promote(pair.standby)
    # commits that the failover has lost: its WAL goes further than that of the new primary
    ask(pair.main, "CREATE TABLE lost AS SELECT repeat('x', 1000) FROM generate_series(1, 5000)")
    pair.main.stop()
    (pair.main.data / "standby.signal").touch()
    pair.main.start()
    site = serve(DATABASE_URL=pair.standby.url, OJS_REPLICA_DATABASE_URL=pair.main.url)

    until(lambda: 'outcome="unusable"' in site.reads(), "a look at the old primary")

    assert site.listed() == ([], None)
    assert "ojs_replica_usable 0.0" in site.reads()


def test_a_user_who_changed_something_sees_the_change(pair: Pair, console: Site) -> None:
    site = console
    job_id = site.enqueue()
    pair.catch_up()
    ask(pair.standby, "SELECT pg_wal_replay_pause()")
    page = "/console/jobs/?state=available"
    until(lambda: " behind</span>" in site.client.get(page).text, "a page of the standby")
    link = f"/console/jobs/{job_id}/"
    assert link in site.client.get(page).text

    cancelled = site.client.post(
        "/console/actions/cancel/",
        data={
            "id": job_id, "next": page, "reason": "no longer needed",
            "csrfmiddlewaretoken": site.client.cookies["csrftoken"],
        },
        headers={"Referer": str(site.client.base_url)},
    )  # fmt: skip

    assert cancelled.status_code == 302, cancelled.text
    after = site.client.get(page).text
    assert link not in after
    assert " behind</span>" not in after
    other = httpx.Cookies({"sessionid": site.client.cookies["sessionid"]})
    site.client.cookies = other  # without the mark
    assert link in site.client.get(page).text


@pytest.mark.long
def test_the_system_page_names_the_standing_of_the_standby(pair: Pair, console: Site) -> None:
    def shown() -> str:
        return " ".join(console.client.get("/console/system/").text.split())

    until(lambda: "A replica serves lists, searches and exports." in shown(), "the replica")
    promote(pair.standby)
    until(lambda: "it is no standby: it may have been promoted" in shown(), "the reason")
