"""Every page of the console by axe-core in Chromium: no violation of WCAG 2.2 AA, light or dark."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from django.urls import URLPattern, reverse
from django_q.models import Task
from playwright.sync_api import Page

from attention.domain.runbook import About, Place
from attention.models import Finding, Mute
from attention.services import notes
from console import simulations
from console.urls import urlpatterns
from federation.models import ReplicationPeer
from federation.queries import note_minute
from jobs.domain.access.caller import Caller
from jobs.domain.lanes.limits import parse_key, parse_policy
from jobs.domain.states import State
from jobs.models import ConfigChange
from jobs.queries import now
from jobs.services.access.api_keys import NewKey, create
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import limits, queue_config
from jobs.services.operate.queues import pause
from jobs.services.workers.heartbeat import Report, heartbeat
from scheduling.api.cron_codec import decode_definition
from scheduling.domain.pool_request import parse_pool
from scheduling.services import cron_register, pools
from scheduling.services.scenarios import Wish
from tests.concurrency import aggregate_all
from tests.configured import CASES
from tests.console import presses
from tests.console.test_operations import begin
from tests.console.test_simulate import CHANGES, SCENARIO, perform
from tests.factories import DraftFactory, JobFactory
from tests.federation.replication.lost import federate
from tests.versioning.wire import TYPE
from tests.workflows.flows import chain, created, group, job
from versioning.domain.canary_request import parse_wanted
from versioning.domain.schema import Mode
from versioning.services import routing
from versioning.services.schemas import Registration, register
from webhooks.models import Attempt, Delivery, Subscription

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
UNSHADED = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(".scroll, .top > nav, pre { background-image: none !important }");
  document.adoptedStyleSheets = [sheet];
}"""
SIZES = ((360, 740), (1280, 800))
# routes that answer only POST, with a file or with JSON
UNSEEN = {
    "act",
    "within",
    "logout",
    "api_key_rotate",
    "operation_file",
    "palette",
    "display",
    "columns",
}
ASKS = {"operation_new": "?verb=retry&dead=1"}  # the query that a page needs besides its path
OF_TYPE = ("versions_of_type", "version_removal", "version_touched", "rules_edit")
ENCODED = {"ojs_encoded": True, "encoding": "gzip/plain+binary/encrypted", "data": "AAE="}
LONG = "a." + "long" * 30
FINDING = "01890000-0000-7000-8000-000000000001"

NOTE = f"""# First
Call [ada](https://example.org), then `retry`.

| a | b |
|---|---|
| {LONG} | {LONG} |

```sh
{LONG * 3}
```
"""

Places = dict[str, str]


@pytest.fixture
def places(page: Page) -> Places:
    """Store objects of every kind; return the path of each page by its name."""
    dead = JobFactory.create(
        state=State.DISCARDED, type=LONG, queue="q" * 60, args=["x" * 3000],
        retry={"on_exhaustion": "dead_letter"},
    )  # fmt: skip
    for state in (State.ACTIVE, State.RETRYABLE, State.SCHEDULED, State.AVAILABLE):
        JobFactory.create(state=state, queue="mail")
    enqueue([replace(DraftFactory.create(), tenant="acme", meta={"tenant_id": "acme"})])
    heartbeat(Report("worker-1", queues=("mail",), concurrency=3, hostname="host", pool="fast",
                     labels={"memory_bytes": 50_000_000}))  # fmt: skip
    pause("mail", Caller("ada"), "it floods")
    pools.put(parse_pool("fast", {"queues": ["mail"], "concurrency": 5}))
    create(NewKey("billing", ("producer",)), Caller("ada"))
    limits.override(
        parse_key("mail-api", "key"), parse_policy({"limit": 5, "period": "PT1S"}), None,
        Caller("ada"),
    )  # fmt: skip
    entry, _ = cron_register.register(
        decode_definition({"name": "nightly", "expression": "0 3 * * *",
                           "job_template": {"type": "report", "args": []}}),
        Caller("ada"), lambda _queue, _kind: None,
    )  # fmt: skip
    presses.ACTS["webhook-retry"].make()  # a delivery
    for version in ("1.0", "1.1"):
        register(Registration(TYPE, version, {"type": "array"}, Mode.STRICT))
    federate()
    ReplicationPeer.objects.create(region="mars")  # no longer registered
    note_minute("eu", 20.0)
    rules = [{"version": "2.0", "weight": 1}, {"version": "1.0", "weight": 9}]
    guard = {"error_rate_threshold": 0.1}
    plan = {"steps": [5, 100], "bake_time": "PT1H"}
    routing.put(parse_wanted(TYPE, {"rules": rules, "auto_rollback": guard,
                                                  "plan": plan}))  # fmt: skip
    aggregate_all()
    Finding.objects.create(
        id=FINDING, rule="queue_paused", subject="mail", severity=2, since=now(), jobs=2,
        tenants=1, facts={"actor": "ada", "reason": "it floods"},
    )  # fmt: skip
    Mute.objects.create(
        rule="loop_stuck", subject="all", until=now() + timedelta(hours=1), reason="x", actor="ada"
    )
    Finding.objects.create(
        id=FINDING[:-1] + "2", rule="loop_stuck", subject="all", severity=3, since=now(), jobs=0,
        tenants=0, facts={},
    )  # fmt: skip
    facts: dict[str, dict[str, Any]] = {
        "finding": {"finding_id": FINDING},
        "attention_rule": {"rule_id": "queue_late"},
        "job": {"job_id": dead.id},
        "job_retry": {"job_id": dead.id},
        "job_clone": {"job_id": dead.id},
        "job_arguments": {
            "job_id": JobFactory.create(meta={"data_classification": "restricted"}).id
        },
        "job_decode": {"job_id": JobFactory.create(args=[ENCODED]).id},
        "operation": {"pk": begin("cancel", state="available").pk},
        "queue": {"name": "mail"},
        "queue_remove": {"name": "mail"},
        "version": {"number": changed()},
        "note": noted(),
        "procedure": {"name": "retry-mail"},
        "type": {"job_type": LONG},
        "region_adopt": {"region_id": "eu"},
        "region_forget": {"region_id": "mars"},
        "worker": {"name": "worker-1"},
        "cron": {"pk": entry.pk},
        "cron_edit": {"pk": entry.pk},
        "pool": {"name": "fast"},
        "pool_edit": {"name": "fast"},
        **{name: {"job_type": TYPE} for name in OF_TYPE},
        "tenant": {"tenant_id": "acme"},
        "tenant_edit": {"tenant_id": "_default"},
        "tenant_remove": {"tenant_id": "acme"},
        "workflow": {"workflow_id": created(chain(job(), group(job(), job())))},
        "schema": {"job_type": TYPE},
        "delivery": {"delivery_id": "del_1"},
        "simulated": {"key": simulated()},
    }
    return {
        name: reverse(f"ojs_console:{name}", kwargs=facts.get(name, _samples(route)))
        + ASKS.get(name, "")
        for route in urlpatterns
        if isinstance(route, URLPattern) and (name := route.name) and name not in UNSEEN
    }


def noted() -> dict[str, str]:
    """Write the notes of a queue and of a rule, and a procedure; return the place of the first."""
    CASES["procedure"].first(Caller("ada"))
    for place in (Place(About.QUEUE, "mail"), Place(About.ALERT, "queue_paused")):
        notes.write(place, NOTE, Caller("ada"))
    return {"about": "queue", "name": "mail"}


def changed() -> int:
    """Change a queue twice; return the number of the first change."""
    for size in (5, 9):
        queue_config.change("mail", {"concurrency": size}, Caller("ada"))
    return ConfigChange.objects.filter(kind="queue", name="mail").earliest("id").pk


def simulated() -> str:
    """Simulate a scenario and return its key."""
    key = simulations.start(Wish(None, SCENARIO, CHANGES, most_jobs=1_000), Caller("ada"))
    perform()
    return key


def _samples(route: URLPattern) -> dict[str, str]:
    """Return arguments that match no object."""
    return dict.fromkeys(route.pattern.converters, "01890000-0000-7000-8000-000000000000")


def violations(page: Page) -> list[str]:
    """Return the violations that axe-core finds on a page."""
    page.evaluate(UNSHADED)  # axe tells no contrast on the shadows at the edges of tables
    page.evaluate(AXE)  # by the debugger: the policy of the pages forbids this script
    found = page.evaluate(
        "tags => axe.run({runOnly: {type: 'tag', values: tags}, resultTypes: ['violations']})", TAGS
    )
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


def widths(page: Page) -> list[str]:
    """Return the screen widths that a page exceeds."""
    found = []
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"wider than {width}")
    return found


def inline(page: Page, policy: str) -> list[str]:
    """Return inline code that a strict policy forbids, and whether the policy is lax.

    The chart library sets styles by script, which no policy forbids.
    """
    has_code = page.evaluate(
        "[...document.querySelectorAll('*')].some(e => !e.closest('.uplot') &&"
        " [...e.attributes].some(a => a.name.startsWith('on') || a.name === 'style'))"
        " || !!document.querySelector('script:not([src]), style')"
    )
    is_strict = "unsafe" not in policy and "default-src 'self'" in policy
    return ["inline code"] * has_code + ["a lax policy"] * (not is_strict)


@pytest.fixture(autouse=True)
def _without_deliveries(store: None) -> Iterator[None]:
    yield
    for table in (Attempt, Delivery, Subscription, Task):
        table.objects.all().delete()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_every_page_is_for_everybody_on_every_screen(
    page: Page, places: Places, scheme: str
) -> None:
    """Check WCAG 2.2 AA by axe-core, no sideways scrolling from 360 px on, no inline code."""
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    wrong: list[str] = []
    for name, path in places.items():
        answer = page.goto(path)
        assert answer
        assert answer.ok, f"{name}: {answer.status} of {path}"
        policy = answer.headers["content-security-policy"]
        found = [*violations(page), *inline(page, policy), *widths(page)]
        wrong += [f"{name}: {one}" for one in found]
    assert not wrong, "\n".join(wrong)


def test_a_question_is_without_violations(page: Page, places: Places) -> None:
    page.goto(places["queue"])
    page.get_by_role("button", name="Resume", exact=True).click()
    assert page.get_by_role("dialog").is_visible()
    assert not violations(page)


def test_a_message_is_without_violations(page: Page, places: Places) -> None:
    page.goto(places["queue"])
    page.get_by_role("button", name="Resume", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()

    page.get_by_role("status").get_by_text("resumed").wait_for()
    assert not violations(page)
