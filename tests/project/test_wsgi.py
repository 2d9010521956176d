"""The application in a real server process."""

import http.client
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from tests.conftest import ROOT, free_port, http_server
from tests.processes import DEADLINE_S, kill_family
from tests.project.conftest import clean_environment

SETTINGS = """
import socket
line = socket.socket(socket.AF_UNIX)
line.connect({address!r})
line.recv(1)
"""


def test_sigterm_while_a_worker_loads_ends_the_server(tmp_path: Path) -> None:
    address = str(tmp_path / "s")
    (tmp_path / "endless_settings.py").write_text(SETTINGS.format(address=address))
    with socket.socket(socket.AF_UNIX) as loading:
        loading.bind(address)
        loading.listen()
        loading.settimeout(DEADLINE_S)
        server = subprocess.Popen(
            [sys.executable, *http_server(free_port()), "--graceful-timeout", "600"],
            cwd=ROOT,
            env={
                **clean_environment(),
                "PYTHONPATH": str(tmp_path),
                "DJANGO_SETTINGS_MODULE": "endless_settings",
            },
        )
        line, _ = loading.accept()
        try:
            server.send_signal(signal.SIGTERM)
            server.wait(DEADLINE_S)
        finally:
            kill_family(server.pid)
            server.wait()
            line.close()


def test_connection_is_good_for_more_after_a_refusal_that_no_body_was_read_for(server: str) -> None:
    line = http.client.HTTPConnection(urlsplit(server).netloc, timeout=DEADLINE_S)
    line.connect()
    first = line.sock

    for _ in range(30):
        line.request("POST", "/ojs/v1/no-such-path", body=b"x" * 300_000)
        assert line.getresponse().read()
        line.request("GET", "/livez")
        assert line.getresponse().read() == b'{"status":"ok"}'

    assert line.sock is first
    line.close()
