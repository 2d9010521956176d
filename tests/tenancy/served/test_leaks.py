"""A caller of one tenant can neither see nor change another tenant's things. Spec: MT 5, D-MT-8.

Each route is asked over HTTP for things of another tenant and for things that do not exist. Both
answers must be equal. Reads of the caller's own things must be equal with and without the other
tenant.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import orjson
import pytest

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.access.keys import SCOPES
from jobs.domain.states import State
from jobs.models import ApiKey
from jobs.services.access.api_keys import NewKey, create
from jobs.services.upkeep.reset import reset
from tests.factories import JobFactory
from tests.processes import DEADLINE_S
from tests.project.test_streams import Stream
from tests.tenancy.served import asks, things
from tests.tenancy.served.asks import Ask
from tests.tenancy.served.things import MARK, Names
from tests.tenancy.wire import answer, push, send

pytestmark = pytest.mark.usefixtures("store")

# values that differ in every answer and reveal nothing
VOLATILE = re.compile(
    r"req_[\w-]+|\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|whsec_[\w+/=-]+|(?<=sub_)\w+|\"(uptime|age|wait_ms)\w*\":[\d.]+"
)
# the end of a period between two reads moves the other points of a history
IDLE_POINT = re.compile(r'\{"\w+":"<new>"(,"\w+":(0|0\.0|null))*\},?')
Send = Callable[[Ask, Names], httpx.Response]


@pytest.fixture(params=["key", pytest.param("header", marks=pytest.mark.long)])
def of_mine(request: Any, guarded: str) -> Iterator[Send]:
    """Return a function that sends requests as one tenant, which its key or a header names."""
    reset()  # the server may remember the previous test
    is_bound = request.param == "key"
    mine = mine_of(request.param)
    _, text = create(NewKey("test", tuple(SCOPES), tenant=mine if is_bound else None))
    headers = {"Authorization": f"Bearer {text}", "Content-Type": OJS_TYPE}
    headers |= {} if is_bound else {"X-OJS-Tenant": mine}
    once = httpx.Limits(
        max_keepalive_connections=0
    )  # the server does not read the body of a request that it refuses
    with httpx.Client(base_url=guarded, headers=headers, timeout=60, limits=once) as client:

        def ask(wanted: Ask, names: Names) -> httpx.Response:
            path = filled(wanted.path, names, wanted.path)
            body = None if wanted.body is None else orjson.dumps(wanted.body).decode()
            content = None if body is None else filled(body, names, wanted.path)
            with client.stream(wanted.method, path, content=content) as response:
                if response.headers.get("Content-Type") != "text/event-stream":
                    response.read()
                return response

        ask.tenant = mine  # type: ignore[attr-defined]  # read by the tests
        ask.is_bound = is_bound  # type: ignore[attr-defined]
        ask.url, ask.headers = guarded, headers  # type: ignore[attr-defined]
        yield ask
    ApiKey.objects.all().delete()


def mine_of(param: str) -> str:
    """Return the tenant, one for each parameter, since the server remembers its lanes."""
    return f"mole-{param}"


def filled(text: str, names: Names, path: str) -> str:
    """Replace the names in braces; `name` is the name of a schedule, a pool or a queue."""
    named = {**names, "name": names["cron"] if "/cron" in path else names["queue"]}
    named |= {"rule_id": "queue_late", "job_type": names["type"], "version": "1", "region_id": "eu"}
    return re.sub(r"{(\w+)}", lambda found: named[found[1]], text)


def shown(response: httpx.Response, names: Names) -> tuple[int, str]:
    """Return status and body without the requested names and without volatile values."""
    text = response.text if response.is_stream_consumed else ""  # an event stream does not end
    for name in sorted(set(names.values()), key=len, reverse=True):
        text = text.replace(name, "<asked>")
    return response.status_code, IDLE_POINT.sub("", VOLATILE.sub("<new>", text))


def is_aimed(ask: Ask) -> bool:
    """Return whether a request names anything."""
    return "{" in ask.path or re.search(r"{\w+}", str(ask.body)) is not None


def aims(ask: Ask, theirs: list[Names]) -> list[Names]:
    """Return the names to ask for: those of every job, or one set if the request names no job."""
    return theirs if "{job_id}" in ask.path + str(ask.body) else theirs[:1]


def test_every_route_says_what_other_tenants_may_know_by_it() -> None:
    lists = (asks.PUBLIC, asks.OF_ALL_TENANTS, asks.READS, asks.STREAMS)
    named = [route for text in lists for route in asks.lines(text)] + list(asks.CHANGES)

    assert sorted(named) == asks.routes()


def test_route_answers_as_if_things_of_others_were_not_there(of_mine: Send) -> None:
    theirs = things.make()
    before = things.snapshot(theirs)
    secrets = {value for one in theirs for value in one.values()} | {MARK}
    secrets -= {"quiet"}
    found: list[Any] = []
    for ask in [*asks.reads(), *asks.streams(), *asks.changes()]:
        if not is_aimed(ask):
            continue
        for names in aims(ask, theirs):
            nobodys = things.nothings()
            told = shown(of_mine(ask, names), names)
            other = shown(of_mine(ask, nobodys), nobodys)
            if told != other and f"{ask.method} {ask.path}" not in asks.COMMON:
                found.append(("differs", ask, told, other))
            if told[0] >= 500:
                found.append(("fails", ask, told))
            if any(secret in told[1] for secret in secrets):
                found.append(("tells", ask, told))
        if (after := things.snapshot(theirs)) != before:
            changed = {
                name: (before[name], after[name]) for name in after if after[name] != before[name]
            }
            found.append(("changes", ask, changed))
            before = after

    assert not found, "\n".join(map(str, found))


def test_what_a_tenant_reads_is_the_same_with_another_one(of_mine: Send) -> None:
    mine = things.make(of_mine.tenant, "shared")  # type: ignore[attr-defined]
    first = {}
    for ask in asks.reads():
        for names in aims(ask, mine):
            first[ask.path, names["job_id"]] = shown(of_mine(ask, names), {})
    things.make(MARK, "shared")
    push(MARK, queue="shared", priority=50)
    found: list[Any] = []
    for ask in asks.reads():
        for names in aims(ask, mine):
            told = shown(of_mine(ask, names), {})
            other = first[ask.path, names["job_id"]]
            if told != other and ask.path not in asks.RELATIVE:
                found.append((ask, other, told))
            if MARK in told[1] and ask.path != "/ojs/v1/queues":  # see COMMON
                found.append(("tells", ask, told))

    assert not found, "\n".join(map(str, found))


def test_what_names_nothing_touches_nothing_of_others(of_mine: Send) -> None:
    theirs = things.make(MARK, "shared")
    before = things.snapshot(theirs)
    mine = {**things.nothings(), "queue": "shared"}
    found: list[Any] = []
    for ask in asks.changes():
        response = of_mine(ask, mine)
        if MARK in response.text or any(one["job_id"] in response.text for one in theirs):
            found.append((ask, response.text))
        if (after := things.snapshot(theirs)) != before:
            changed = {
                name: (before[name], after[name]) for name in after if after[name] != before[name]
            }
            found.append(("changes", ask, changed))
            before = after

    assert not found, "\n".join(map(str, found))


def test_a_stream_tells_nothing_of_what_another_tenant_does_meanwhile(of_mine: Send) -> None:
    mine: str = of_mine.tenant  # type: ignore[attr-defined]
    found: list[Any] = []
    for ask in asks.streams():
        job = JobFactory.create(
            state=State.ACTIVE, queue="shared", worker_id="mine", meta={"tenant_id": mine}
        )
        names = {"queue": "shared", "cron": "", "type": job.type, "job_id": job.id}
        path = filled(ask.path, names, ask.path)
        stream = Stream(f"{of_mine.url}{path}", **of_mine.headers)  # type: ignore[attr-defined]
        theirs = things.make(MARK, "shared")
        answer(send("POST", "workers/ack", {"job_id": theirs[3]["job_id"]}, X_OJS_Tenant=MARK))
        answer(send("DELETE", "workers/zebra-idle", X_OJS_Tenant=MARK), 204)
        push(MARK, queue="shared", priority=50)
        done = {"job_id": job.id, "worker_id": "mine"}
        answer(send("POST", "workers/ack", done, X_OJS_Tenant=mine))

        told = _told_until_end_of(job.id, stream)

        secrets = {MARK} | {one["job_id"] for one in theirs}
        if stream.status != 200 or not any(job.id in text for text in told):
            found.append(("tells nothing", ask, stream.status, told))
        found += [("tells", ask, text) for text in told if any(one in text for one in secrets)]
        stream.close()
        reset()

    assert not found, "\n".join(map(str, found))


def _told_until_end_of(job_id: str, stream: Stream) -> list[str]:
    """Return the frames of a stream up to the completion of a job, or up to its end."""
    told: list[str] = []
    while frame := stream.frames.get(timeout=DEADLINE_S):
        told.append(str(frame))
        if job_id in told[-1] and "completed" in told[-1]:
            break
    return told + stream.comments


def test_what_concerns_all_tenants_is_refused_to_one(of_mine: Send) -> None:
    theirs = things.make()
    before = things.snapshot(theirs)
    for ask in asks.refused():
        status, text = shown(of_mine(ask, theirs[0]), theirs[0])
        assert (status, MARK in text) == (403, False), ask
        assert shown(of_mine(ask, nobodys := things.nothings()), nobodys) == (status, text), ask

    assert things.snapshot(theirs) == before
