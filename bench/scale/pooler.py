"""PgBouncer between the HTTP server and PostgreSQL, set up as docs/operations.md says."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from bench.database import Database
from bench.scale.measure import Point
from bench.scale.rig import ROLE, Place, Rig
from bench.stack import START_S, Process, StackError, free_port
from ojs_project.postgres import Cluster
from ojs_tasks.worker.tether import tied

FOLDERS = f"{os.environ.get('PATH', '')}:/usr/sbin"  # PgBouncer counts as a daemon
CONFIGURATION = """
[databases]
* = host={sockets}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = transaction
max_client_conn = 500
default_pool_size = 20
"""
BOUNDS = (  # of requests: a pooler does not pass on settings of a session
    f"ALTER ROLE {ROLE} SET statement_timeout = '6s'",
    f"ALTER ROLE {ROLE} SET lock_timeout = '5s'",
    f"ALTER ROLE {ROLE} SET idle_in_transaction_session_timeout = '60s'",
)


def program() -> str | None:
    """Return the path of PgBouncer; None: it is not installed."""
    return shutil.which("pgbouncer", path=FOLDERS)


def points(rig: Rig, place: Place, clients: int) -> list[Point]:
    """Return the same server with direct connections, and with connections of PgBouncer."""
    direct = rig.point("direct", place, clients)
    Database("postgres", rig.cluster.sockets).run(*BOUNDS)
    process, port = begin(rig.cluster, rig.folder)
    rig.ends.callback(_end, process)
    settings = {
        "DATABASE_URL": f"postgresql://{ROLE}@127.0.0.1:{port}/{place.dataset.database.name}",
        "OJS_DIRECT_DATABASE_URL": place.stack.database.url,
        "OJS_POOLER": "true",
    }
    pooled = rig.point("PgBouncer", place, clients, more=settings, others=[process.pid])
    return [direct, pooled]


def begin(cluster: Cluster, folder: Path) -> tuple[Process, int]:
    """Start PgBouncer under the account of PostgreSQL; returns its port. Raises StackError."""
    found, port, owner = program(), free_port(), cluster.data.stat()
    if found is None:
        raise StackError("install pgbouncer")
    users, file = folder / "users.txt", folder / "pgbouncer.ini"
    users.write_text(f'"{ROLE}" ""\n')
    file.write_text(CONFIGURATION.format(sockets=cluster.sockets, port=port, users=users))
    is_root = os.geteuid() == 0  # PgBouncer refuses root
    with (folder / "pgbouncer.log").open("ab") as log:
        process = subprocess.Popen(
            [found, "-q", str(file)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
            preexec_fn=tied(),  # noqa: PLW1509 - nothing but a system call
            user=owner.st_uid if is_root else None,
            group=owner.st_gid if is_root else None,
        )  # fmt: skip
    _wait_until_open(process, port)
    return process, port


def _wait_until_open(process: Process, port: int) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise StackError("PgBouncer did not start; see pgbouncer.log")


def _end(process: Process) -> None:
    process.terminate()
    process.wait()
