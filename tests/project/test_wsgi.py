"""The application in a real server process."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT, free_port
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
    command = [
        "-m", "granian", "--interface", "wsgi", "--port", str(free_port()),
        "--workers-kill-timeout", "600", "ojs_project.wsgi:application",
    ]  # fmt: skip
    with socket.socket(socket.AF_UNIX) as loading:
        loading.bind(address)
        loading.listen()
        loading.settimeout(DEADLINE_S)
        server = subprocess.Popen(
            [sys.executable, *command],
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
