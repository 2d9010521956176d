"""Event streams of a real server. Spec: contract 25.3, 25.5, 29, 33.3."""

import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Queue
from typing import Any

import httpx
import orjson
import pytest

from jobs.models import ApiKey
from jobs.services.access.api_keys import NewKey, create
from jobs.stream.feed import POLL_S
from tests.conftest import free_port, http_server, wait_until_answering
from tests.factories import stored_ids
from tests.processes import until
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("clean")
DEADLINE_S = 60
Frames = list[tuple[str, Any, str | None]]


class Stream:
    """A client of a stream: frames as (event, data, id); comments and `retry` are kept apart."""

    def __init__(self, url: str, **headers: str) -> None:
        self.frames: Queue[tuple[str, Any, str | None] | None] = Queue()
        self.comments: list[str] = []
        self.retry: str | None = None
        self.headers: httpx.Headers = httpx.Headers()
        self.status = 0
        self._open = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(url, headers), daemon=True)
        self._thread.start()
        assert self._open.wait(DEADLINE_S), "the stream did not begin"

    def _read(self, url: str, headers: dict[str, str]) -> None:
        given = {"Accept": "text/event-stream", **headers}
        try:
            with httpx.stream("GET", url, headers=given, timeout=DEADLINE_S) as response:
                self.status, self.headers = response.status_code, response.headers
                self._open.set()
                self._parse(response.iter_lines())
        except httpx.HTTPError:
            pass  # ended by the server or the test
        self._open.set()
        self.frames.put(None)

    def _parse(self, lines: Iterator[str]) -> None:
        frame: dict[str, str] = {}
        for line in lines:
            if self._over.is_set():
                return
            if line.startswith(":"):
                self.comments.append(line[1:])
            elif line.startswith("retry:"):
                self.retry = line.partition(":")[2].strip()
            elif line:
                name, _, text = line.partition(":")
                frame[name] = text.strip()
            elif frame:
                data = orjson.loads(frame["data"])
                self.frames.put((frame.get("event", "message"), data, frame.get("id")))
                frame = {}

    def next(self) -> tuple[str, Any, str | None]:
        """Return the next frame."""
        frame = self.frames.get(timeout=DEADLINE_S)
        assert frame is not None, "the stream ended"
        return frame

    def until(self, name: str) -> tuple[str, Any, str | None]:
        """Return the next frame of this event."""
        while (frame := self.next())[0] != name:
            pass
        return frame

    def rest(self) -> Frames:
        """Return what comes until the server ends the stream."""
        found = []
        while (frame := self.frames.get(timeout=DEADLINE_S)) is not None:
            found.append(frame)
        return found

    def close(self) -> None:
        """Leave with the next line."""
        self._over.set()


@pytest.fixture
def clean(server: str) -> None:
    """Empty the store of the server."""
    httpx.post(f"{server}/ojs/v1/admin/reset", timeout=DEADLINE_S).raise_for_status()


def post(server: str, path: str, body: object) -> Any:
    """Send a request and return the answer."""
    answer = httpx.post(f"{server}/ojs/v1/{path}", json=body, timeout=DEADLINE_S)
    answer.raise_for_status()
    return answer.json()


def enqueue(server: str, **members: Any) -> str:
    """Enqueue a job and return its id."""
    body = {"type": "tests.noop", "args": [], **members}
    return str(post(server, "jobs", body)["job"]["id"])


def reconnected(url: str, frames: Frames) -> int:
    """Go on behind the last frame that has an id until nothing is left; returns the last status.

    A frame has none while an older transaction of somebody else runs, and is told again.
    """
    last = "1"
    while True:
        last = next((number for _, _, number in reversed(frames) if number), last)
        stream = Stream(url, **{"Last-Event-ID": last})
        if stream.status != httpx.codes.OK:
            return stream.status
        frames = stream.rest()


def run_once(server: str) -> str:
    """Fetch and acknowledge one job."""
    job = post(server, "workers/fetch", {"queues": ["default"]})["jobs"][0]
    post(server, "workers/ack", {"job_id": job["id"]})
    return str(job["id"])


def settled(server: str, stream: Stream) -> tuple[str, tuple[str, Any, str | None], Any]:
    """Enqueue until the change of state has an id; returns the job and its two frames.

    One that is told while an older transaction of somebody else runs has none.
    """
    while True:
        job_id = enqueue(server)
        told, changed = stream.until("job.enqueued"), stream.next()
        if changed[2] is not None:
            return job_id, told, changed


@spec("contract 25.3")
def test_a_global_stream_tells_each_event_and_each_change_of_state(server: str) -> None:
    stream = Stream(f"{server}/ojs/v1/events")

    job_id, (name, data, number), (changed, change, change_id) = settled(server, stream)

    assert stream.status == 200
    assert stream.headers["content-type"] == "text/event-stream"
    assert stream.headers["cache-control"] == "no-cache"
    assert stream.headers["x-accel-buffering"] == "no"
    assert stream.headers["ojs-version"] == "1.0"
    assert stream.retry == "3000"
    assert (name, number) == ("job.enqueued", None)
    assert {
        "job_id": job_id,
        "type": "tests.noop",
        "event": "job.enqueued",
        "queue": "default",
    }.items() <= data.items()
    assert changed == "job.state_changed"
    assert (change["from"], change["to"]) == ("initial", "available")
    assert int(change_id or 0) == data["seq"]
    stream.close()


@spec("contract 12.5")
def test_an_event_is_visible_soon_after_its_commit_without_another(server: str) -> None:
    stream = Stream(f"{server}/ojs/v1/events/stream?types=job.enqueued")
    jobs, told = [], []
    for _ in range(5):
        jobs.append(enqueue(server))
        _, event, _ = stream.next()
        told.append(event["job_id"])
    stream.close()

    assert told == jobs
    assert POLL_S <= 0.5


@spec("contract 25.3")
def test_a_job_stream_ends_with_its_job_and_a_reconnect_gets_204(server: str) -> None:
    job_id = enqueue(server)
    stream = Stream(f"{server}/ojs/v1/jobs/{job_id}/events")
    assert run_once(server) == job_id

    frames = stream.rest()

    names = [name for name, _, _ in frames]
    assert names == ["job.started", "job.state_changed", "job.completed", "job.state_changed"]
    assert reconnected(f"{server}/ojs/v1/jobs/{job_id}/events", frames) == 204


@spec("contract 25.3")
def test_a_job_that_has_ended_is_told_as_one_change_of_state(server: str) -> None:
    job_id = enqueue(server)
    run_once(server)

    frames = Stream(f"{server}/ojs/v1/jobs/{job_id}/events").rest()

    assert [(name, data["from"], data["to"]) for name, data, _ in frames] == [
        ("job.state_changed", "active", "completed")
    ]


@spec("contract 25.3")
def test_a_queue_stream_tells_of_its_queue_alone(server: str) -> None:
    enqueue(server, queue="one")
    stream = Stream(f"{server}/ojs/v1/queues/one/events")

    enqueue(server, queue="two")
    wanted = enqueue(server, queue="one")

    assert stream.next()[1]["job_id"] == wanted
    stream.close()


@pytest.mark.parametrize("form", ["job:{}", "job%3A{}", "job%253A{}"])
@spec("contract 25.3")
def test_a_channel_names_a_job(server: str, form: str) -> None:
    job_id = enqueue(server)
    stream = Stream(f"{server}/ojs/v1/events/stream?channel={form.format(job_id)}")

    enqueue(server)
    run_once(server)

    assert stream.next()[1]["job_id"] == job_id
    stream.close()


@spec("contract 25.3")
def test_last_event_id_resumes_behind_it_by_number_and_by_id(server: str) -> None:
    first = enqueue(server)
    batch = post(server, "jobs/batch", {"jobs": [{"type": "tests.noop", "args": []}] * 550})
    ids = [first, *(job["id"] for job in batch["jobs"])]

    listed = httpx.get(f"{server}/ojs/v1/events?job_id={first}").json()["events"][0]
    for name in (str(listed["seq"]), listed["id"]):
        stream = Stream(f"{server}/ojs/v1/events?types=job.enqueued", **{"Last-Event-ID": name})
        told = [stream.next()[1]["job_id"] for _ in range(200)]
        later = enqueue(server)
        told += [stream.next()[1]["job_id"] for _ in range(len(ids) - 200)]
        stream.close()

        assert told == [*ids[1:], later]
        ids.append(later)


@spec("contract 25.3")
def test_an_id_older_than_the_record_tells_the_gap_and_goes_on(server: str) -> None:
    enqueue(server)
    stream = Stream(f"{server}/ojs/v1/events?types=job.*", **{"Last-Event-ID": "1"})

    name, gap, _ = stream.next()
    job_id = enqueue(server)

    assert name == "system.gap"
    assert gap["gap_start"] == "1"
    assert gap["estimated_missed_count"] >= 1
    assert int(gap["gap_end"]) > 1
    assert stream.next()[1]["job_id"] == job_id
    stream.close()


@spec("contract 25.3")
def test_the_end_of_a_job_follows_a_gap(server: str) -> None:
    job_id = enqueue(server)
    run_once(server)
    url = f"{server}/ojs/v1/jobs/{job_id}/events"

    frames = Stream(url, **{"Last-Event-ID": "1"}).rest()

    assert [name for name, _, _ in frames] == ["system.gap", "job.state_changed"]
    assert reconnected(url, frames) == 204


@spec("contract 29")
def test_progress_is_told_unnamed_and_named_until_the_end(server: str) -> None:
    job_id = enqueue(server)
    post(server, "workers/fetch", {"queues": ["default"]})
    url = f"{server}/ojs/v1/jobs/{job_id}/progress/stream"
    stream = Stream(url)
    opening = [stream.next(), stream.next()]
    httpx.put(f"{server}/ojs/v1/jobs/{job_id}/progress", json={"progress": 0.5, "message": "half"})
    reported = [stream.next(), stream.next()]
    post(server, "workers/ack", {"job_id": job_id})

    ended = stream.rest()

    assert [name for name, _, _ in opening + reported + ended] == [
        "message", "progress", "message", "progress", "message", "completed",
    ]  # fmt: skip
    assert [data["progress"] for _, data, _ in (opening[0], reported[0], ended[0])] == [
        None,
        0.5,
        1.0,
    ]
    assert reported[0][1]["message"] == "half"
    assert reconnected(url, ended) == 204


@spec("contract 25.5")
def test_the_stream_of_numbers_begins_at_once_and_tells_events(server: str) -> None:
    stream = Stream(f"{server}/ojs/v1/admin/stats/stream")
    name, numbers, _ = stream.next()

    job_id = enqueue(server)

    assert name == "metrics"
    assert numbers.keys() == {"queues", "throughput", "workers", "error_rate"}
    _, told, _ = stream.until("job.enqueued")
    assert (told["job_id"], told["type"], told["queue"]) == (job_id, "tests.noop", "default")
    _, numbers, _ = stream.until("metrics")
    assert {"queue": "default", "available": 1}.items() <= numbers["queues"][0].items()
    stream.close()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("jobs/01a200e4-af35-7c74-bb45-2844d00d422a/events", 404),
        ("jobs/01a200e4-af35-7c74-bb45-2844d00d422a/progress/stream", 404),
        ("jobs/x/events", 404),
        ("queues/none/events", 404),
        ("events/stream?channel=jobs", 400),
        ("events/stream?job_id=1", 400),
        ("events?types=%00", 400),
    ],
)
@spec("contract 25.3")
def test_what_cannot_be_followed_is_refused_before_the_stream(
    server: str, path: str, status: int
) -> None:
    answer = httpx.get(f"{server}/ojs/v1/{path}", headers={"Accept": "text/event-stream"})

    assert answer.status_code == status
    assert answer.json()["error"]["code"] in {"not_found", "invalid_request"}


@spec("contract 25.3")
def test_streams_take_no_request_thread(server: str) -> None:
    streams = [Stream(f"{server}/ojs/v1/events/stream") for _ in range(60)]

    job_id = enqueue(server)

    assert all(stream.until("job.enqueued")[1]["job_id"] == job_id for stream in streams)
    for stream in streams:
        stream.close()
    enqueue(server)


# --- servers of the test's own --------------------------------------------------------------------

Start = Callable[..., tuple[subprocess.Popen[bytes], str]]


@pytest.fixture
def start(spawn: Callable[..., subprocess.Popen[bytes]]) -> Start:
    """Return a function that starts a server with settings; one process."""

    def run(**environment: str) -> tuple[subprocess.Popen[bytes], str]:
        port = free_port()
        process = spawn(*http_server(port, threads=2), **environment)
        url = f"http://127.0.0.1:{port}"
        wait_until_answering(url)
        return process, url

    return run


@contextmanager
def ending(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End a server after its test."""
    try:
        yield
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(DEADLINE_S)


@spec("contract 33.3")
def test_a_server_that_stops_says_so_and_is_gone_soon(start: Start) -> None:
    process, url = start()
    with ending(process):
        stream = Stream(f"{url}/ojs/v1/events/stream")
        process.send_signal(signal.SIGTERM)
        _, facts, _ = stream.until("server.shutdown")
        process.wait(DEADLINE_S)

    assert (facts["reason"], facts["grace_period_ms"]) == ("shutdown", 5000)
    assert stream.rest() == []


@spec("contract 25.3")
def test_one_client_has_so_many_streams_and_no_more(start: Start) -> None:
    process, url = start(OJS_STREAM_LIMIT_PER_CLIENT="2")
    with ending(process):
        streams = [Stream(f"{url}/ojs/v1/events/stream") for _ in range(2)]
        refused = httpx.get(f"{url}/ojs/v1/events/stream")
        assert refused.status_code == 429
        assert refused.headers["retry-after"]
        streams[0].close()
        enqueue(url)

        def is_free() -> bool:
            with httpx.stream("GET", f"{url}/ojs/v1/events/stream") as answer:
                return bool(answer.status_code == httpx.codes.OK)

        until(is_free, "a free place")
        streams[1].close()


@spec("contract 25.3")
def test_a_slow_client_is_told_what_it_missed(start: Start) -> None:
    settings = {"OJS_STREAM_BUFFER": "5", "OJS_STREAM_EVENTS_PER_SECOND": "1"}
    process, url = start(**settings)
    with ending(process):
        stream = Stream(f"{url}/ojs/v1/events/stream?types=job.enqueued")
        post(url, "jobs/batch", {"jobs": [{"type": "tests.noop", "args": []}] * 50})

        _, dropped, _ = stream.until("system.events_dropped")
        stream.close()

    assert dropped["dropped_count"] >= 1
    assert int(dropped["oldest_dropped_id"]) <= int(dropped["newest_dropped_id"])
    assert stream.comments[-1].startswith("events-dropped ")


@spec("contract 25.3")
def test_an_idle_stream_has_heartbeats(start: Start) -> None:
    process, url = start(OJS_STREAM_HEARTBEAT_MS="50")
    with ending(process):
        stream = Stream(f"{url}/ojs/v1/queues/idle/events")
        if stream.status == 404:
            post(url, "queues/idle/pause", {})
            stream = Stream(f"{url}/ojs/v1/queues/idle/events")

        until(lambda: "heartbeat" in stream.comments, "a heartbeat")
        stream.close()


@pytest.mark.usefixtures("store")
@spec("contract 31")
def test_a_stream_needs_a_key_and_ends_when_the_key_is_revoked(start: Start) -> None:
    row, key = create(NewKey("watcher", ("operator",), tenant="north"))
    settings = {
        "OJS_AUTH": "apikey",
        "OJS_API_KEY_CACHE_MS": "50",
        "OJS_SSE_QUERY_TOKEN": "true",
        "OJS_STREAM_HEARTBEAT_MS": "100",
    }
    process, url = start(**settings)
    with ending(process):
        assert httpx.get(f"{url}/ojs/v1/events/stream").status_code == 401
        given = {"Authorization": f"Bearer {key}"}
        other = httpx.get(f"{url}/ojs/v1/events/stream?tenant=south", headers=given)
        assert other.status_code == 403
        assert httpx.get(f"{url}/ojs/v1/admin/stats/stream", headers=given).status_code == 403
        stream = Stream(f"{url}/ojs/v1/events/stream?access_token={key}")
        assert stream.status == 200

        ApiKey.objects.all().delete()

        assert [name for name, _, _ in stream.rest()] == []
    assert row is not None


@pytest.mark.usefixtures("store")
@spec("contract 25.3")
def test_a_bound_key_is_told_of_its_tenant_alone(start: Start) -> None:
    _, key = create(NewKey("watcher", ("admin",), tenant="north"))
    process, url = start(OJS_AUTH="apikey")
    with ending(process):
        given = {"Authorization": f"Bearer {key}"}
        stream = Stream(f"{url}/ojs/v1/events/stream", **given)
        stored_ids(1)
        body = {"type": "tests.noop", "args": []}
        own = httpx.post(f"{url}/ojs/v1/jobs", json=body, headers=given).json()["job"]["id"]

        assert stream.next()[0] == "tenant.created"
        assert stream.next()[1]["job_id"] == own
        stream.close()
    ApiKey.objects.all().delete()
