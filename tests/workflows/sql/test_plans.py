"""Rows that statements of workflows read at volume: none reads a growing table completely.

Both for plans made for these parameters and for generic plans.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from jobs.services.upkeep.reset import reset
from tests.jobs.sql.test_plans import CUSTOM, GENERIC, GROWING, set_mode
from tests.jobs.sql.volume import Shape, analyze, job_id, load, touched_by
from tests.workflows.flows import batch, chain, created, graph, group, job
from workflows import queries
from workflows.domain.kinds import StepState
from workflows.models import Step, Workflow

pytestmark = pytest.mark.xdist_group("plans of workflows")

OURS = {"ojs_workflow", "ojs_workflow_step", "ojs_workflow_slot"}
FEW = 300
# bounds of reads that do not depend on the arguments of a call
MAY_READ = {
    "page": 45_000,  # counts up to ten thousand of each state
    "finish": 1_000,  # all members, once, for the member that failed first
    "prune": 6_000,  # workflows of a batch with their steps
    "due": 1_000,  # all members for a callback
}
MANY = """
INSERT INTO ojs_workflow (id, root_id, depth, kind, state, name, tenant, caller, callbacks, members,
                          slots, open, prune_at)
SELECT i, i, 1, 2, 2 + n % 3, '', 't' || n % 50, '{}', '{}', 3, 0, 0, now() + interval '1 day'
  FROM generate_series(1, 20000) AS n,
       LATERAL (SELECT ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid AS i) AS x;
INSERT INTO ojs_workflow_step (workflow_id, index, name, type, callback, state, depends_on,
                               dependents, waits, slots, job_id)
SELECT w.id, s, 'step-' || s, 'volume.type', 0, 3, '{}', '{}', 0, 0,
       ('00000000-0000-7000-a000-' || right(md5(w.id::text || s), 12))::uuid
  FROM ojs_workflow AS w, generate_series(0, 2) AS s;
UPDATE ojs_workflow_step SET state = 0, job_id = NULL,
       request = CASE WHEN index = 1 THEN '{"type": "flow.step@2.0", "args": []}'::jsonb END
 WHERE index > 0;
INSERT INTO ojs_workflow_slot (workflow_id, target, slot, open)
SELECT w.id, -1, s, 0 FROM ojs_workflow AS w, generate_series(0, 1) AS s
"""


class Flows:
    """Workflows for the calls, among many other workflows."""

    group: str
    wide: str
    chain: str
    dag: str
    batch: str
    nested: str


def jobs_of(flow: str, number: int = 10) -> list[str]:
    """Return jobs of a workflow."""
    found = Step.objects.filter(workflow_id=flow).exclude(job_id=None).order_by("index")
    return [str(step.job_id) for step in found[:number]]


@pytest.fixture(scope="module")
def flows(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Flows]:
    """Load a store."""
    with django_db_blocker.unblock():
        reset()
        load(Shape(1, 1))
        with connection.cursor() as cursor:
            for statement in MANY.split(";"):
                cursor.execute(statement)
        made = Flows()
        made.group = created(group(*[job() for _ in range(20)]))
        made.wide = created(group(*[job() for _ in range(300)]))
        made.chain = created(chain(*[job() for _ in range(20)]))
        made.dag = created(graph(a="", b="", c="a b", d="c"))
        made.batch = created(batch(*[job() for _ in range(20)], on_complete=job()))
        made.nested = created(chain(job(), group(job(), job())))
        analyze()
        yield made
        connection.close()
        reset()


def make_due(flow: str, index: int) -> tuple[str, int]:
    """Make a waiting step due."""
    Step.objects.filter(workflow_id=flow, index=index).update(state=StepState.DUE)
    return flow, index


def ended(flow: str, number: int = 5) -> list[tuple[str, int, int, int]]:
    """Return members of a workflow as ended."""
    return [(flow, n, int(StepState.COMPLETED), 0) for n in range(number)]


CALLS: dict[str, Callable[[Flows], object]] = {
    "await_look": lambda f: queries.await_look([f.group, f.chain], connection),
    "begun": lambda f: queries.begun([(*make_due(f.chain, 1), job_id(9))]),
    "bury": lambda f: queries.bury([str(Workflow.objects.get(parent_id=f.nested).id)]),
    "call": lambda f: queries.call([(f.batch, 1)]),
    "cancel": lambda f: queries.cancel(f.group, jobs_of(f.group), jobs_of(f.group), 1000),
    "due of a chain": lambda f: queries.due([make_due(f.chain, 10)], 1000),
    "due of a callback": lambda f: queries.due([make_due(f.batch, 20)], 1000),
    "enter": lambda f: queries.enter([str(Workflow.objects.get(parent_id=f.nested).id)]),
    "finish": lambda f: queries.finish([(f.group, 2), (f.wide, 3)], 1000),
    "hold": lambda f: queries.hold(f.group, exclusive=True),
    "insert": lambda _f: created(group(*[job() for _ in range(10)])),
    "membership": lambda f: queries.membership(jobs_of(f.dag)[0], 5),
    "note": lambda f: queries.note(
        [{"workflow_id": f.nested, "index": 1, "state": 3, "error": None}], 1000
    ),
    "overdue": lambda _f: queries.overdue(100),
    "page": lambda _f: queries.page(
        (1, 2, 3, 4), tenant=None, before=None, offset=0, limit=50, most=10_000
    ),
    "page of a tenant": lambda _f: queries.page(
        (1, 2, 3, 4), tenant="t1", before=None, offset=0, limit=50, most=10_000
    ),
    "postpone": lambda f: queries.postpone((f.chain, 3), 1000),
    "prune": lambda _f: queries.prune(100, 1000),
    "record": lambda f: queries.record(jobs_of(f.group)),
    "recount": lambda f: queries.recount(f.group),
    "release": lambda f: queries.release([(f.dag, 0), (f.dag, 1), (f.chain, 0)]),
    "reopen": lambda f: queries.reopen(jobs_of(f.group)[0]),
    "retained": lambda f: queries.retained(jobs_of(f.group)),
    "root_of": lambda f: queries.root_of(jobs_of(f.group)[0]),
    "future_steps": lambda _f: queries.future_steps("flow.step", looked=100),
    "started": lambda f: queries.started(f.nested),
    "steps": lambda f: queries.steps([f.group], 1000),
    "count_ended": lambda f: queries.count_ended(ended(f.group)),
    "count_ended of a wide one": lambda f: queries.count_ended(ended(f.wide)),
    "tree": lambda f: queries.tree(f.nested),
    "undoom": lambda f: queries.undoom(f.dag),
}


def test_every_statement_is_measured() -> None:
    files = {path.stem for path in (Path(queries.__file__).parent / "sql").glob("*.sql")}

    assert files == {name.split()[0] for name in CALLS}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mode", [CUSTOM, GENERIC])
def test_a_statement_at_volume_reads_what_it_needs(flows: Flows, name: str, mode: str) -> None:
    set_mode(mode)

    read = touched_by(lambda: CALLS[name](flows))

    assert not read.scanned.keys() & (GROWING | OURS), read.scanned
    most = MAY_READ.get(name.split(maxsplit=1)[0], FEW)
    assert max(read.entries.values(), default=0) <= most, read.entries
