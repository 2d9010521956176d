"""PostgreSQL nodes with Patroni, etcd, HAProxy and PgBouncer on loopback.

The settings are those of the files in deploy/patroni. Only addresses, folders, passwords and the
watchdog, which loopback nodes do not have, differ.
"""

import contextlib
import signal
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import httpx
import psycopg
import yaml

from bench.drills.programs import (
    SYSTEM_PATH,
    TOOLS,
    DrillError,
    Process,
    Programs,
    find,
    owned,
    postgres_folder,
    signal_all,
    wait_for,
)  # fmt: skip
from bench.faults.arena import family
from ojs_project.quickstart import ROOT

DEPLOY: Final = ROOT / "deploy" / "patroni"
HOST: Final = "127.0.0.1"
ROLE: Final = "ojs"
START_S: Final = 120.0
PORTS: Final = 50  # of a drill
FIRST_PORT, LAST_PORT = 18_200, 28_200
BOUNDS: Final = (  # of requests: a pooler does not pass on settings of a session
    f"ALTER ROLE {ROLE} SET statement_timeout = '6s'",
    f"ALTER ROLE {ROLE} SET lock_timeout = '5s'",
    f"ALTER ROLE {ROLE} SET idle_in_transaction_session_timeout = '60s'",
)


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of a drill, from `first` on."""

    first: int

    @classmethod
    def free(cls) -> Self:
        """Return ports that no process uses now. Raises DrillError."""
        for first in range(FIRST_PORT, LAST_PORT, PORTS):
            found = cls(first)
            with contextlib.suppress(DrillError):
                found.check()
                return found
        raise DrillError(f"no {PORTS} ports are free from {FIRST_PORT} on")

    def check(self) -> None:
        """Raise DrillError unless all ports are free."""
        for port in range(self.first, self.first + PORTS):
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((HOST, port))
                except OSError:
                    raise DrillError(f"port {port} is in use: choose others with --ports") from None

    def etcd(self) -> int:
        """For clients of etcd; the next port is for its peers."""
        return self.first

    def postgres(self, number: int) -> int:
        """Of a PostgreSQL node."""
        return self.first + 10 + number

    def rest(self, number: int) -> int:
        """Of the REST API of a Patroni."""
        return self.first + 20 + number

    def haproxy(self) -> int:
        """Of HAProxy, which leads to the primary."""
        return self.first + 30

    def pgbouncer(self) -> int:
        """Of PgBouncer."""
        return self.first + 31

    def http(self, number: int) -> int:
        """Of an HTTP server."""
        return self.first + 40 + number


@dataclass
class Node:
    """One machine: a Patroni and its PostgreSQL."""

    number: int
    folder: Path
    ports: Ports
    programs: Programs
    packages: str  # the folder that has Patroni; empty: the system has it
    patroni: Process | None = None
    _alone: Process | None = None

    @property
    def name(self) -> str:
        """The name in the cluster."""
        return f"db{self.number + 1}"

    @property
    def port(self) -> int:
        """The port of PostgreSQL."""
        return self.ports.postgres(self.number)

    def start(self) -> None:
        """Start Patroni, which starts PostgreSQL."""
        # usually the python of the system: the account of PostgreSQL can run it, too
        command = [str(TOOLS / "python"), "-m", "patroni", str(self.folder / "patroni.yml")]
        environment = {"PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "PYTHONPATH": self.packages}
        self.patroni = self.programs.begin(self.name, command, environment, under_account=True)

    def start_alone(self) -> None:
        """Start PostgreSQL without Patroni, as an old primary that nobody has demoted."""
        command = [str(postgres_folder() / "postgres"), "-D", str(self.folder / "data")]
        self._alone = self.programs.begin(f"{self.name}-alone", command, under_account=True)
        wait_for(f"PostgreSQL of {self.name}", self.answers, START_S)

    def stop_alone(self) -> None:
        """End PostgreSQL that runs without Patroni."""
        if self._alone:
            signal_all(self.server(), signal.SIGKILL)
            self._alone.wait()

    def answers(self) -> bool:
        """Return whether PostgreSQL accepts connections."""
        with contextlib.suppress(psycopg.Error), self.connect():
            return True
        return False

    def server(self) -> list[int]:
        """Return the processes of PostgreSQL, which are no descendants of Patroni."""
        data = str(self.folder / "data").encode()
        return [pid for one in with_argument(data) for pid in family(one)]

    def processes(self) -> list[int]:
        """Return all processes of the machine."""
        return [*(family(self.patroni.pid) if self.patroni else []), *self.server()]

    def kill(self) -> None:
        """End the machine as a power failure does."""
        signal_all(self.processes(), signal.SIGKILL)
        if self.patroni:
            self.patroni.wait()

    def stop(self) -> None:
        """End the machine, whatever state it is in."""
        signal_all(self.processes(), signal.SIGCONT)
        if self.patroni:
            self.programs.end(self.patroni)
        signal_all(self.server(), signal.SIGKILL)

    def connect(self, database: str = "postgres") -> "psycopg.Connection[Any]":
        """Connect to this PostgreSQL as a superuser."""
        return psycopg.connect(
            host=HOST, port=self.port, user="postgres", dbname=database, connect_timeout=3,
            autocommit=True,
        )  # fmt: skip

    def role(self) -> str:
        """Return `primary`, `replica`, or a state of Patroni; empty: no answer."""
        try:
            found = httpx.get(f"http://{HOST}:{self.ports.rest(self.number)}/patroni", timeout=2)
        except httpx.TransportError:
            return ""
        state = found.json()
        role = "primary" if state.get("role") == "master" else state.get("role")
        return str(role if state.get("state") == "running" else state.get("state"))


@dataclass
class Cluster:
    """etcd, the nodes, and the two ways to the primary."""

    folder: Path
    ports: Ports
    size: int
    is_synchronous: bool
    programs: Programs
    packages: str  # the folder that has Patroni; empty: the system has it
    nodes: list[Node] = field(default_factory=list)
    _etcd: Process | None = None

    def start(self) -> None:
        """Start everything, and make the database; standbys may still copy. Raises DrillError."""
        owned(self.folder / "etcd")
        self.start_etcd()
        for number in range(self.size):
            folder = owned(self.folder / f"db{number + 1}")
            node = Node(number, folder, self.ports, self.programs, self.packages)
            (folder / "patroni.yml").write_text(yaml.safe_dump(self._settings(node)))
            self.nodes.append(node)
        self.nodes[0].start()
        wait_for("primary", lambda: self.nodes[0].role() == "primary", START_S)
        for node in self.nodes[1:]:
            node.start()
        with self.nodes[0].connect() as connection:
            connection.execute(f"CREATE ROLE {ROLE} LOGIN")
            for text in (f"CREATE DATABASE {ROLE} OWNER {ROLE}", *BOUNDS):
                connection.execute(text.encode())
        self._start_routes()

    def stop(self) -> None:
        """End the nodes; the owner of the programs ends the others."""
        for node in reversed(self.nodes):
            node.stop()

    @property
    def several_hosts(self) -> str:
        """The URL that names all nodes and accepts the primary only."""
        hosts = ",".join(f"{HOST}:{node.port}" for node in self.nodes)
        return f"postgresql://{ROLE}@{hosts}/{ROLE}?target_session_attrs=read-write"

    @property
    def pooled(self) -> str:
        """The URL of PgBouncer."""
        return f"postgresql://{ROLE}@{HOST}:{self.ports.pgbouncer()}/{ROLE}"

    def primary(self) -> Node | None:
        """Return the node that holds the lock."""
        return next((node for node in self.nodes if node.role() == "primary"), None)

    def leader(self) -> Node:
        """Return the primary. Raises DrillError."""
        wait_for("primary", lambda: self.primary() is not None, START_S)
        if found := self.primary():
            return found
        raise DrillError("no primary")

    def members(self) -> dict[str, str]:
        """Return the role of each running node, as etcd has it."""
        for node in self.nodes:
            with contextlib.suppress(httpx.TransportError):
                url = f"http://{HOST}:{self.ports.rest(node.number)}/cluster"
                found = httpx.get(url, timeout=2).json()["members"]
                return {
                    one["name"]: one["role"]
                    for one in found if one["state"] in {"running", "streaming"}
                }  # fmt: skip
        return {}

    def is_complete(self) -> bool:
        """Return whether every other node streams from the primary, and one may take over.

        In synchronous mode only a standby that etcd names as synchronous may take over. PostgreSQL
        names it some seconds earlier.
        """
        primary, roles = self.primary(), list(self.members().values())
        if primary is None or len(roles) < self.size:
            return False
        if self.is_synchronous and "sync_standby" not in roles:
            return False
        with contextlib.suppress(psycopg.Error), primary.connect() as connection:
            rows = connection.execute(
                "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
            ).fetchall()
            return len(rows) >= self.size - 1
        return False

    def wait_until_complete(self) -> float:
        """Wait until all nodes take part; return the seconds. Raises DrillError."""
        return wait_for("complete cluster", self.is_complete, START_S)

    def switch_over(self, to: Node) -> None:
        """Hand the lock of the primary to a node, as `patronictl switchover` does."""
        leader = self.leader()
        answer = httpx.post(
            f"http://{HOST}:{self.ports.rest(leader.number)}/switchover",
            json={"leader": leader.name, "candidate": to.name}, timeout=60,
        )  # fmt: skip
        if not answer.is_success:
            raise DrillError(f"switchover: {answer.text}")

    def successor(self) -> Node:
        """Return the node that a switchover may choose: the synchronous standby, if any."""
        leader = self.leader()
        with leader.connect() as connection:
            rows = connection.execute(
                "SELECT application_name FROM pg_stat_replication"
                " ORDER BY sync_state = 'sync' DESC, application_name"
            ).fetchall()
        return next(node for node in self.nodes if node.name == rows[0][0])

    def timeline(self, node: Node) -> int:
        """Return the timeline that a primary writes."""
        with node.connect() as connection:
            row = connection.execute(
                "SELECT pg_walfile_name(pg_current_wal_insert_lsn())"
            ).fetchone()
        return int(row[0][:8], 16) if row else 0

    def rows(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        """Query the server's database on the primary."""
        with psycopg.connect(self.several_hosts, connect_timeout=3) as connection:
            return connection.execute(text.encode(), values or None).fetchall()

    def start_etcd(self) -> None:
        """Start etcd."""
        client, peer = (
            f"http://{HOST}:{self.ports.etcd()}",
            f"http://{HOST}:{self.ports.etcd() + 1}",
        )
        self._etcd = self.programs.begin(
            "etcd",
            [find("etcd"), "--name", "etcd1", "--data-dir", str(self.folder / "etcd" / "data"),
             "--listen-client-urls", client, "--advertise-client-urls", client,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", f"etcd1={peer}", "--logger", "zap"],
            under_account=True,
        )  # fmt: skip
        wait_for("etcd", self._etcd_answers, START_S)

    def stop_etcd(self) -> None:
        """Stop etcd as a crash does."""
        if self._etcd:
            self._etcd.kill()
            self._etcd.wait()

    def _etcd_answers(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"http://{HOST}:{self.ports.etcd()}/health", timeout=2).is_success
        return False

    def _settings(self, node: Node) -> dict[str, Any]:
        """Return deploy/patroni/patroni.yml with the addresses of a node of the drill."""
        found: dict[str, Any] = yaml.safe_load((DEPLOY / "patroni.yml").read_text())
        rest, postgres = f"{HOST}:{self.ports.rest(node.number)}", f"{HOST}:{node.port}"
        found["name"] = node.name
        found["restapi"] = {"listen": rest, "connect_address": rest}
        found["etcd3"] = {"hosts": [f"{HOST}:{self.ports.etcd()}"]}
        found["watchdog"] = {"mode": "off"}
        found["bootstrap"]["pg_hba"] = [
            f"host replication all {HOST}/32 trust", f"host all all {HOST}/32 trust",
        ]  # fmt: skip
        found["bootstrap"]["dcs"]["synchronous_mode"] = self.is_synchronous
        found["postgresql"] |= {
            "listen": postgres, "connect_address": postgres,
            "data_dir": str(node.folder / "data"), "bin_dir": str(postgres_folder()),
            "pgpass": str(node.folder / "pgpass"),
            "parameters": {
                "unix_socket_directories": str(node.folder), "shared_buffers": "64MB",
                "log_min_messages": "warning",
            },
        }  # fmt: skip
        return found

    def _start_routes(self) -> None:
        proxy = (DEPLOY / "haproxy.cfg").read_text().replace(":5000", f":{self.ports.haproxy()}")
        lines = [line for line in proxy.splitlines() if "server db" not in line]
        lines += [
            f"    server {node.name} {HOST}:{node.port} maxconn 150"
            f" check port {self.ports.rest(node.number)}"
            for node in self.nodes
        ]
        (self.folder / "haproxy.cfg").write_text("\n".join(lines) + "\n")
        self.programs.begin(
            "haproxy", [find("haproxy"), "-db", "-f", str(self.folder / "haproxy.cfg")]
        )
        users = self.folder / "users.txt"
        users.write_text(f'"{ROLE}" ""\n')
        pooler = (DEPLOY / "pgbouncer.ini").read_text()
        for old, new in (
            ("port=5000", f"port={self.ports.haproxy()}"),
            ("listen_port = 6432", f"listen_port = {self.ports.pgbouncer()}\nunix_socket_dir ="),
            ("scram-sha-256", "trust"), ("/etc/pgbouncer/users.txt", str(users)),
        ):  # fmt: skip
            pooler = pooler.replace(old, new)
        (self.folder / "pgbouncer.ini").write_text(pooler)
        self.programs.begin(
            "pgbouncer", [find("pgbouncer"), str(self.folder / "pgbouncer.ini")], under_account=True
        )
        wait_for("way through PgBouncer", self._leads_to_primary, START_S)

    def _leads_to_primary(self) -> bool:
        with (
            contextlib.suppress(psycopg.Error),
            psycopg.connect(self.pooled, connect_timeout=3) as connection,
        ):
            return bool(connection.execute("SELECT NOT pg_is_in_recovery()").fetchone())
        return False


def with_argument(text: bytes) -> list[int]:
    """Return the processes that were started with this argument."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if text in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found
