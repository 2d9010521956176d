"""Cost of schedules at volume: a hundred thousand schedules with their runs.

Measured as in tests/jobs/sql/test_plans.py: with every kind of plan, no statement reads a whole
table, and none reads more of an index than the work needs.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from jobs.domain.access.caller import Caller
from jobs.domain.errors import Conflict
from jobs.services.upkeep.reset import reset
from scheduling.models import KEPT, CronEntry, CronTurn
from scheduling.services.cron_entries import find, latest_runs, page
from scheduling.services.cron_fire import due_in_ms, fire
from scheduling.services.cron_history import history
from scheduling.services.cron_producers import future_producers
from scheduling.services.cron_register import switch
from scheduling.services.cron_slots import pass_on, pass_on_forgotten
from scheduling.services.cron_trigger import trigger
from tests.jobs.sql.volume import analyze, touched_by
from tests.scheduling.conftest import ANYBODY, NORTH, allow_all, entry, registered

pytestmark = pytest.mark.xdist_group("plans of schedules")

SCHEDULES, WITH_RUNS, TURNS, DUE = 100_000, 500, 2_000, 40
FEW, SOME = 250, 3_000
TABLES = {"ojs_cron_entry", "ojs_cron_run", "ojs_cron_turn", "ojs_job"}

ENTRIES = """
INSERT INTO ojs_cron_entry (tenant, name, expression, timezone, template, overlap_policy, enabled,
                            due_at, next_run_at, run_count, noted)
SELECT CASE WHEN n %% 10 = 0 THEN 'north' END, 'n' || n, '0 * * * *', 'UTC',
       '{"type": "tests.cron", "args": [], "meta": {}, "options": {}}',
       (ARRAY['skip', 'allow', 'enqueue'])[1 + n %% 3], n %% 20 <> 19,
       CASE WHEN n %% 20 <> 19 THEN now() + (n + 100) * interval '1 second' END,
       CASE WHEN n %% 20 <> 19 THEN now() + (n + 100) * interval '1 second' END, 0, 0
  FROM generate_series(1, %(schedules)s) AS n
"""
RUNS = """
INSERT INTO ojs_cron_run (entry_id, slot, number, scheduled_at)
SELECT e.id, s, s, now() FROM ojs_cron_entry AS e, generate_series(0, %(kept)s - 1) AS s
 WHERE e.name = ANY (SELECT 'n' || n FROM generate_series(1, %(with_runs)s) AS n)
"""
TAKEN = """
INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta, attributes,
                     max_attempts, timeout_ms, created_at, attempt)
SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'tests.cron', 'default',
       '_default', 1, 0, true, '[]', '{}', '{}', 3, 1000, now(), 0
  FROM generate_series(1, %(turns)s) AS n
"""
TURN_ROWS = """
INSERT INTO ojs_cron_turn (entry_id, holder, waiting)
SELECT 10000000 + n, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, '{}'
  FROM generate_series(1, %(turns)s) AS n
"""
SOON = """
UPDATE ojs_cron_entry SET due_at = now() - interval '1 second', next_run_at = now()
 WHERE id IN (SELECT id FROM ojs_cron_entry WHERE due_at IS NOT NULL ORDER BY due_at LIMIT %(due)s)
"""


def run(text: str) -> None:
    facts = {
        "schedules": SCHEDULES, "kept": KEPT, "with_runs": WITH_RUNS, "turns": TURNS, "due": DUE,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(text, {name: n for name, n in facts.items() if f"%({name})s" in text})


@pytest.fixture(scope="module")
def full(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Load schedules, their runs, and overlap slots of active jobs."""
    with django_db_blocker.unblock():
        reset()
        for text in (ENTRIES, RUNS, TAKEN, TURN_ROWS):
            run(text)
        registered("known", overlap_policy="enqueue")
        analyze()
        yield
        connection.close()  # drops the mode and the plans
        reset()


def fire_some() -> None:
    """Fire the due schedules."""
    assert fire() == DUE


def trigger_one() -> None:
    """Trigger one schedule; a refusal for too many waiting runs reads as much."""
    with suppress(Conflict):
        trigger("known", ANYBODY, allow_all)


HOLDER = "00000000-0000-7000-8000-0000000001f4"
CALLS: dict[str, tuple[Callable[[], object], int]] = {
    "fire": (fire_some, SOME),
    "nothing due": (fire, FEW),
    "due in": (due_in_ms, FEW),
    "find": (lambda: find("n5000", ANYBODY), FEW),
    "find of a tenant": (lambda: find("n5000", NORTH), FEW),
    "history": (lambda: history(CronEntry.objects.get(name="n7"), KEPT), FEW),
    "latest runs": (lambda: latest_runs([entry("n7"), entry("n8")]), FEW),
    "trigger": (trigger_one, FEW),
    "count_schedules": (lambda: future_producers("tests.cron", looked=100), SOME),
    "count_schedules of another type": (lambda: future_producers("tests.other", looked=100), FEW),
    "switch": (lambda: switch("known", ANYBODY, allow_all, enabled=True), FEW),
    "register": (lambda: registered("known"), FEW),
    "pass on": (lambda: pass_on([HOLDER, "0197a0c2-5b1e-7c44-9a10-6f2d8c3b7e55"]), FEW),
}


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
def test_call_among_100_000_schedules_reads_what_it_needs(name: str, mode: str) -> None:
    run("SET plan_cache_mode = auto")
    run(SOON if name == "fire" else "SELECT")
    run(f"SET plan_cache_mode = {mode}")
    call, most = CALLS[name]

    read = touched_by(call)

    assert not read.scanned.keys() & TABLES, read.scanned
    assert max(read.entries.values(), default=0) <= most, read.entries


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("caller", [ANYBODY, NORTH, Caller("south key", "south")])
def test_list_reads_its_page_and_counts_what_the_caller_sees(caller: Caller) -> None:
    read = touched_by(lambda: page(caller, enabled=None, tenant=None, limit=50, offset=100))

    # counting all schedules reads the table once, or the index where vacuum has marked the pages
    counted = SCHEDULES + FEW if caller is ANYBODY else SCHEDULES // 10 + FEW
    assert read.scanned.get("ojs_cron_entry", 0) <= (counted if caller is ANYBODY else 0)
    assert max(read.entries.values(), default=0) <= counted, read.entries


@pytest.mark.usefixtures("full")
def test_forgotten_turns_are_looked_for_among_turns_only() -> None:
    read = touched_by(pass_on_forgotten)

    assert max(read.entries.values(), default=0) <= 2 * TURNS, read.entries
    assert read.scanned.get("ojs_cron_turn", 0) <= 2 * TURNS
    assert not read.scanned.keys() & {"ojs_cron_entry", "ojs_cron_run"}
    assert CronTurn.objects.count() >= TURNS


@pytest.mark.usefixtures("full")
def test_firing_goes_by_the_index_that_was_made_for_it() -> None:
    run(SOON)

    assert "ojs_cron_due" in touched_by(fire).entries
