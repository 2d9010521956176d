"""A region without a real server: it stores jobs, counts requests and fails by script."""

import json
import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from federation.domain.meta import FEDERATION_ID
from federation.domain.region import Region
from jobs.domain.wire.ids import new_id

HEALTHY = (200, {"status": "ok"})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True


class Stub:
    """One region; `jobs` are its stored jobs, `asked` counts requests by method and path."""

    def __init__(self, id: str) -> None:
        """Start on a free port."""
        self.id = id
        self.jobs: dict[str, dict[str, Any]] = {}
        self.asked: Counter[str] = Counter()
        self.sent: list[tuple[str, dict[str, str], Any]] = []  # path, headers, body
        self.health: tuple[int, Any] = HEALTHY  # a string is sent unchanged
        self.answers: list[tuple[int, Any, dict[str, str]]] = []  # to the next enqueues
        self.loses: list[str] = []  # the loss at each of the next enqueues: "request" or "answer"
        self.stats: tuple[int, Any] = (200, {"jobs": {"available": 0, "active": 0}})
        self.queues: dict[str, dict[str, int]] = {}
        self.federated: dict[str, Any] = {}  # its answers about federation ids
        self.deletes: tuple[int, Any] | None = (200, None)  # None: the connection is cut
        self.hub_target: str | None = None
        self.hub_refuses: dict[int, tuple[int, Any, dict[str, str]]] = {}  # by index in a batch
        self.given_up: list[tuple[int, Any]] = []  # to the next requests to give up jobs
        self.drips: bytes = b""  # an answer to a probe, sent byte by byte
        self.is_held = threading.Event()  # all answers wait for it
        self.is_held.set()
        self._lock = threading.Lock()
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start again on the same port."""
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body are two packets

            def do_GET(self) -> None:
                stub._answer(self)

            do_POST = do_DELETE = do_GET  # noqa: N815 - as http.server has it

            def log_message(self, *_facts: Any) -> None:
                """Log nothing."""

        self._open: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        """Refuse new connections and cut the open ones."""
        if not self._thread.is_alive():
            return
        self.is_held.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        with self._lock:
            for connection in self._open:
                _cut(connection)

    @property
    def url(self) -> str:
        """The base URL of the stub."""
        return f"http://127.0.0.1:{self.port}"

    def region(self, **members: Any) -> Region:
        """Return its entry of the registry."""
        return Region(self.id, self.url, allow_insecure=True, **members)

    @property
    def probes(self) -> int:
        """The number of probes that it received."""
        return self.asked["GET /ojs/v1/health"]

    @property
    def enqueues(self) -> int:
        """The number of POST requests, which carry jobs."""
        return sum(n for what, n in self.asked.items() if what.startswith("POST "))

    @property
    def requests(self) -> int:
        """The number of all requests."""
        return self.asked.total()

    def federation_ids(self) -> list[str]:
        """Return the federation ids of the stored jobs."""
        return [job["meta"][FEDERATION_ID] for job in self.jobs.values()]

    # --- answering --------------------------------------------------------------------------------

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.partition("?")[0]
        raw = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw else None
        with self._lock:
            self._open.add(handler.connection)
            self.asked[f"{handler.command} {path}"] += 1
            self.sent.append((path, {k.lower(): v for k, v in handler.headers.items()}, body))
        self.is_held.wait(60)
        if path.endswith("/give-up"):
            _send(handler, *(self.given_up.pop(0) if self.given_up else (503, {})))
        elif handler.command == "POST":
            self._take(handler, path, body)
        elif path == "/ojs/v1/health" and self.drips:
            self._drip(handler)
        elif path == "/ojs/v1/health":
            _send(handler, *self.health)
        elif path == "/ojs/v1/admin/stats":
            _send(handler, *self.stats)
        else:
            self._look_up(handler, path)

    def _drip(self, handler: BaseHTTPRequestHandler) -> None:
        """Send the bytes one by one, so that no single read waits for long."""
        handler.close_connection = True
        for n in range(len(self.drips)):
            try:
                handler.wfile.write(self.drips[n : n + 1])
            except OSError:
                return
            threading.Event().wait(0.01)

    def _look_up(self, handler: BaseHTTPRequestHandler, path: str) -> None:
        parts = path.split("/")
        if path == "/ojs/v1/queues":
            _send(handler, 200, {"queues": [{"name": name} for name in self.queues]})
        elif parts[3] == "queues":
            _send(handler, 200, {"stats": self.queues[parts[4]]})
        elif parts[3] == "federation" and parts[-1] in self.federated:
            _send(handler, 200, self.federated[parts[-1]])
        elif handler.command == "DELETE":
            self._cancel(handler, self.jobs[parts[-1]])
        elif (job := self.jobs.get(parts[-1])) is not None and parts[3] == "jobs":
            _send(handler, 200, {"job": job})
        else:
            _send(handler, 404, {"error": {"code": "not_found", "message": "no such job"}})

    def _cancel(self, handler: BaseHTTPRequestHandler, job: dict[str, Any]) -> None:
        if self.deletes is None:
            _cut(handler.connection)
            handler.close_connection = True
            return
        status, body = self.deletes
        job["state"] = "cancelled"
        _send(handler, status, body or {"job": job})

    def _take(self, handler: BaseHTTPRequestHandler, path: str, body: Any) -> None:
        with self._lock:
            loss = self.loses.pop(0) if self.loses else None
            status, answer, headers = self.answers.pop(0) if self.answers else (0, None, {})
            if not status and loss != "request":
                status, answer, headers = self._store(handler, path, body)
        if loss:
            _cut(handler.connection)
            handler.close_connection = True
            return
        _send(handler, status, answer, headers)

    def _store(
        self, handler: BaseHTTPRequestHandler, path: str, body: Any
    ) -> tuple[int, Any, dict[str, str]]:
        is_dedupe = handler.headers.get("OJS-Federation-Dedupe") == "1"
        drafts = body["jobs"] if path.endswith("/batch") else [body]
        known = {job["meta"].get(FEDERATION_ID): job for job in self.jobs.values()}
        stored, is_known = [], False
        for draft in drafts:
            found = known.get(draft["meta"].get(FEDERATION_ID)) if is_dedupe else None
            is_known = is_known or found is not None
            job = found or {**draft, "id": new_id(), "state": "available"}
            self.jobs[job["id"]] = job
            stored.append(job)
        headers = {"OJS-Deduplicated": "true"} if is_known else {}
        if "/federation/" in path:
            told = [self._placed(n, job) for n, job in enumerate(stored)]
            if not path.endswith("/batch"):
                return 201, told[0], headers
            is_mixed = any(one["status"] >= 400 for one in told)
            return 207 if is_mixed else 201, {"results": told}, headers
        return 200 if is_known else 201, (
            {"jobs": stored} if path.endswith("/batch") else {"job": stored[0]}
        ), headers  # fmt: skip

    def _placed(self, n: int, job: dict[str, Any]) -> dict[str, Any]:
        if n in self.hub_refuses:
            del self.jobs[job["id"]]
            status, body, _ = self.hub_refuses[n]
            return {"index": n, "status": status, **body}
        told = {"target_region": self.hub_target}
        return {"index": n, "status": 201, "job": job, "federation": told}


def _send(
    handler: BaseHTTPRequestHandler, status: int, body: Any, headers: dict[str, str] | None = None
) -> None:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {**(headers or {}), "Content-Length": str(len(raw))}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(raw)


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        connection.close()


def refusal(status: int, code: str = "invalid_request") -> tuple[int, Any, dict[str, str]]:
    """Return an answer in the error shape of the core."""
    return status, {"error": {"code": code, "message": f"no: {status}"}}, {}
