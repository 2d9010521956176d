"""Requests of every level and of the pages, and their answers in a form that can be compared."""

import itertools
import re
from typing import Any

import httpx

Body = dict[str, Any]

NUMBERS = itertools.count()
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
TOKEN = re.compile(r'(name="csrfmiddlewaretoken" value=")\w+')
# times, and statistics that a loop aggregates a moment later
MEASURED = re.compile(
    r'("(?:\w*_(?:ms|seconds|rate|last_hour|per_minute|per_second)|p\d\d)":)\d+(?:\.\d+)?'
)
OF_THE_SERVER = {
    "connection", "content-length", "date", "keep-alive", "server", "transfer-encoding",
}  # fmt: skip
CHANGING = {
    "expires", "set-cookie", "x-ojs-operation", "x-ratelimit-remaining", "x-ratelimit-reset",
}  # fmt: skip
HASH = re.compile(r"\b[0-9a-f]{64}\b")  # of names that each recorder chooses
FAR = "2099-01-01T00:00:00Z"


class Recorder:
    """Sends requests to one server and keeps the answers without names, ids and times."""

    def __init__(self, client: httpx.Client) -> None:
        """Choose names that no other recorder has."""
        self._client = client
        self.name = f"record{next(NUMBERS)}"
        self._ids: dict[str, str] = {}
        self.answers: list[tuple[str, int, dict[str, str], str]] = []

    def send(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """Send a request, keep its answer, and return the JSON of the answer."""
        headers = {"X-Request-Id": "one", **more.pop("headers", {})}
        if body is not None:
            more["json"] = body
        answer = self._client.request(method, path, headers=headers, **more)
        shown = {
            name: "" if name in CHANGING else self._plain(value)
            for name, value in answer.headers.items()
            if name not in OF_THE_SERVER
        }
        asked = self._plain(f"{method} {path}")
        self.answers.append((asked, answer.status_code, shown, self._plain(answer.text)))
        is_json = "json" in answer.headers.get("content-type", "")
        return answer.json() if is_json and answer.content else None

    def job(self, *args: Any, **options: Any) -> Body:
        """Return the JSON that a producer sends for a job."""
        return {"type": f"{self.name}.run", "args": list(args),
                "options": {"queue": self.name, **options}}  # fmt: skip

    def push(self, *args: Any, **options: Any) -> str:
        """Enqueue a job and return its id."""
        return str(self.send("POST", "/ojs/v1/jobs", self.job(*args, **options))["job"]["id"])

    def fetch(self, count: int = 1) -> list[Body]:
        """Claim jobs."""
        wanted = {"queues": [self.name], "count": count, "worker_id": self.name}
        jobs: list[Body] = self.send("POST", "/ojs/v1/workers/fetch", wanted)["jobs"]
        return jobs

    def _plain(self, text: str) -> str:
        text = ID.sub(lambda found: self._numbered(found[0]), text.replace(self.name, "NAME"))
        return HASH.sub("HASH", MEASURED.sub(r"\1N", TOKEN.sub(r"\1", TIME.sub("TIME", text))))

    def _numbered(self, found: str) -> str:
        return self._ids.setdefault(found, f"id{len(self._ids)}")


def send_all(client: httpx.Client) -> list[tuple[str, int, dict[str, str], str]]:
    """Send all requests to a server; return the answers."""
    recorder = Recorder(client)
    for part in (refusals, core, reliable, scheduled, orchestration, advanced, others, pages):
        part(recorder)
    return recorder.answers


def refusals(to: Recorder) -> None:
    """Send requests that the API refuses."""
    to.send("GET", "/ojs/v1/jobs/0190a5b0-0000-7000-8000-000000000000")
    to.send("GET", "/ojs/v1/no-such-path")
    to.send("GET", "/ojs/v1/queues/a%00b")
    to.send("PUT", "/ojs/v1/jobs", {})
    to.send("OPTIONS", "/ojs/v1/jobs")
    to.send("GET", "/ojs/v1/jobs/x", headers={"Host": "rebound.example"})
    to.send("GET", "/ojs/manifest", headers={"OJS-Version": "9.0"})
    to.send("GET", "/ojs/v1/workers/nobody", headers={"Authorization": "Bearer wrong"})
    for body in (b"", b"{", b"[]", b'{"type": "no spaces", "args": []}'):
        to.send("POST", "/ojs/v1/jobs", content=body, headers={"Content-Type": "application/json"})
    to.send("POST", "/ojs/v1/jobs", content=b"{}", headers={"Content-Type": "text/plain"})


def core(to: Recorder) -> None:
    """Send the requests of level 0."""
    to.send("GET", "/livez")
    to.send("GET", "/ojs/v1/jobs/no-id", headers={"Accept": "application/json"})
    job_id = to.push({"weight": 1.5}, "Größe", priority=7, tags=["fragile"])
    to.send("GET", f"/ojs/v1/jobs/{job_id}")
    to.fetch()
    to.send("POST", "/ojs/v1/workers/ack", {"job_id": job_id, "result": {"done": True}})
    to.send("POST", "/ojs/v1/workers/ack", {"job_id": job_id})
    to.send("GET", f"/ojs/v1/jobs/{job_id}")
    other = to.push()
    to.send("DELETE", f"/ojs/v1/jobs/{other}")
    to.fetch()


def reliable(to: Recorder) -> None:
    """Send the requests of level 1."""
    failed = {"error": {"code": "handler_error", "message": "bent"}}
    for attempts in (1, 3):
        job_id = to.push(retry={"max_attempts": attempts, "initial_interval": "PT1H",
                                "jitter": False, "on_exhaustion": "dead_letter"})  # fmt: skip
        to.fetch()
        beat = {"worker_id": to.name, "state": "running", "active_jobs": [job_id]}
        to.send("POST", "/ojs/v1/workers/heartbeat", beat)
        to.send("POST", "/ojs/v1/workers/nack", {"job_id": job_id, **failed})
        to.send("GET", f"/ojs/v1/jobs/{job_id}")
        to.send("POST", f"/ojs/v1/dead-letter/{job_id}/retry")
        to.send("DELETE", f"/ojs/v1/jobs/{job_id}")


def scheduled(to: Recorder) -> None:
    """Send the requests of level 2."""
    job_id = to.push(delay_until=FAR)
    to.send("DELETE", f"/ojs/v1/jobs/{job_id}")
    to.send("POST", "/ojs/v1/jobs", to.job(delay_until="tomorrow"))
    schedule = {"name": to.name, "expression": "0 5 1 1 *", "enabled": False,
                "job_template": to.job()}  # fmt: skip
    to.send("POST", "/ojs/v1/cron", schedule)
    to.send("POST", "/ojs/v1/cron", {**schedule, "expression": "61 * * * *"})
    to.send("GET", f"/ojs/v1/cron/{to.name}")
    to.send("PATCH", f"/ojs/v1/cron/{to.name}", {"timezone": "Europe/Berlin"})
    to.send("DELETE", f"/ojs/v1/cron/{to.name}")


def orchestration(to: Recorder) -> None:
    """Send the requests of level 3."""
    flow = to.send(
        "POST", "/ojs/v1/workflows", {"type": "chain", "steps": [to.job("a"), to.job("b")]}
    )["workflow"]
    for _ in range(2):
        for taken in to.fetch():
            done = {"job_id": taken["id"], "result": {"did": taken["args"]}}
            to.send("POST", "/ojs/v1/workers/ack", done)
    to.send("GET", f"/ojs/v1/workflows/{flow['id']}")
    to.send("POST", "/ojs/v1/workflows", {"type": "ring", "steps": []})


def advanced(to: Recorder) -> None:
    """Send the requests of level 4."""
    unique = {"keys": ["type"], "on_conflict": "reject"}
    first = to.push(1, unique=unique)
    to.send("POST", "/ojs/v1/jobs", to.job(1, unique=unique))
    to.send("DELETE", f"/ojs/v1/jobs/{first}")
    to.send("POST", "/ojs/v1/jobs/batch", {"jobs": [to.job(n, priority=n) for n in range(3)]})
    to.send("POST", "/ojs/v1/jobs/batch", {"jobs": [to.job(), {"type": ""}]})
    to.send("POST", f"/ojs/v1/queues/{to.name}/pause")
    to.fetch()
    to.send("POST", f"/ojs/v1/queues/{to.name}/resume")
    to.fetch(3)
    to.send("PUT", f"/ojs/v1/queues/{to.name}/config", {"config": {"max_size": 2}})
    to.send("GET", "/ojs/v1/queues/nobody-knows-it/stats")


def others(to: Recorder) -> None:
    """Send requests of the admin API and of the other apps."""
    tenant = {"priority_boost": 1}
    to.send("PUT", f"/ojs/v1/admin/tenants/{to.name}", tenant)
    to.send("GET", f"/ojs/v1/admin/tenants/{to.name}")
    to.send("DELETE", f"/ojs/v1/admin/tenants/{to.name}")
    to.send("GET", "/ojs/v1/admin/pools/nobody-knows-it")
    to.send("GET", "/ojs/v1/webhooks/subscriptions/nobody-knows-it")


def pages(to: Recorder) -> None:
    """Send requests of browsers."""
    to.send("GET", "/")
    to.send("GET", "/console/")
    to.send("GET", "/console/login/")
    to.send("POST", "/console/login/", content=b"username=a&password=b")  # without a CSRF token
    to.send("GET", "/console/no-such-page")
    to.send("GET", "/static/ojs/console.css")
    to.send("GET", "/static/ojs/no-such-file")
