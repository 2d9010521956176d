"""A peer that accepts batches, or answers by a script."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson

from federation.domain.region import Region

Answer = tuple[int, Any]
Script = Callable[[dict[str, Any]], Answer]


def takes(body: dict[str, Any]) -> Answer:
    """Accept the whole batch."""
    return 200, {"accepted": len(body["jobs"]), "ignored": 0, "conflicts": 0}


class Peer:
    """A server that records the received batches in order; `script` answers."""

    def __init__(self, region: str, script: Script = takes) -> None:
        """Start the server."""
        self.batches: list[dict[str, Any]] = []
        self.script = script
        self.may_answer = threading.Event()
        self.may_answer.set()
        peer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
                peer.batches.append(body)
                peer.may_answer.wait(30)
                status, answer = peer.script(body)
                text = orjson.dumps(answer)
                self.send_response(status if self.path.endswith("/federation/replicate") else 404)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_facts: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.region = Region(
            region, f"http://127.0.0.1:{self._server.server_port}", allow_insecure=True
        )
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def jobs(self) -> list[dict[str, Any]]:
        """All received revisions, in order."""
        return [job for batch in self.batches for job in batch["jobs"]]

    def stop(self) -> None:
        """Stop the server."""
        self.may_answer.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def listening(*regions: str) -> Iterator[list[Peer]]:
    """Run peers for the duration of the block."""
    peers = [Peer(one) for one in regions]
    try:
        yield peers
    finally:
        for one in peers:
            one.stop()
