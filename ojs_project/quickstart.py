"""The parts of `quickstart`: environment, first login, processes, greeting."""

import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from django.core.management.base import CommandError

from ojs_project import env
from ojs_project.postgres import Cluster, ClusterError
from ojs_project.supervisor import TICK_S, Child
from ojs_tasks.worker.tether import tied

ROOT = Path(__file__).resolve().parent.parent
IS_CHECKOUT = (ROOT / "manage.py").exists()
MANAGE = [sys.executable, *([str(ROOT / "manage.py")] if IS_CHECKOUT else ["-m", "ojs_project"])]
COMMANDS = "manage.py" if IS_CHECKOUT else "ojs-server"  # as an operator calls them
FAILED = 2  # exit code
NO_HANDLERS = """
  This server has no handlers: the job waits for a worker that fetches the queue "default".
  Start with --demo for a server that has handlers.
"""
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - replaced in client URLs


@dataclass
class Database:
    """The embedded cluster as a service: it starts again after a crash."""

    cluster: Cluster
    name: str = "postgres"

    def start(self) -> None:
        """Run the server again. Raises RuntimeError."""
        try:
            self.cluster.restart()
        except ClusterError as problem:
            raise RuntimeError(str(problem)) from None

    def is_alive(self) -> bool:
        """Return whether it runs."""
        return self.cluster.is_running()

    def stop(self, _is_hurried: Callable[[], bool]) -> None:
        """Do nothing: the owner of the cluster ends it last."""


@dataclass(frozen=True, slots=True)
class First:
    """The secrets made at this start, shown once; None: it existed, or the operator chose it."""

    password: str | None
    key: str | None

    @property
    def is_new(self) -> bool:
        """There is a secret to show."""
        return bool(self.password or self.key)


def environment(url: str | None, options: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of the child processes: this process's, with the needed changes."""
    chosen = dict(os.environ)
    chosen.pop("OJS_BUILD", None)  # only for this process: see manage.py
    if url:
        chosen["DATABASE_URL"] = url
    if not {"OJS_SECRET_KEY", "OJS_SECRET_KEY_FILE"} & chosen.keys():
        chosen["OJS_SECRET_KEY_FILE"] = str(_secret(options["folder"]))
    if options["auth"] == "off":
        chosen |= {"OJS_AUTH": "off", "OJS_ALLOW_INSECURE": "true"}
        names = {"localhost", "127.0.0.1", "[::1]", _bracketed(options["host"])}
        chosen.setdefault("OJS_ALLOWED_HOSTS", ",".join(sorted(names)))
    else:
        chosen["OJS_AUTH"] = "apikey"
        chosen.setdefault("OJS_ALLOWED_HOSTS", "*")
    if options["demo"]:
        chosen["OJS_DEMO"] = "true"
    if "PROMETHEUS_MULTIPROC_DIR" not in chosen:
        chosen["PROMETHEUS_MULTIPROC_DIR"] = str(_metrics(options["folder"]))
    if IS_CHECKOUT:  # an installed package is on the path of the interpreter
        path = [str(ROOT), *filter(None, [chosen.get("PYTHONPATH")])]
        chosen["PYTHONPATH"] = os.pathsep.join(path)
    return chosen


def _metrics(folder: Path) -> Path:
    """Return an empty folder where the processes of this start share their metrics."""
    path = folder / "metrics"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def _secret(folder: Path) -> Path:
    """Return the file of the secret key, made on the first start."""
    path = folder / "secret-key"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(50))
    return path


def prepare(
    variables: dict[str, str], options: Mapping[str, Any], is_over: Callable[[], bool]
) -> First:
    """Migrate, make the first login and with `--auth on` the first key. Raises CommandError."""
    command = [*MANAGE, "firststart", *(["--key"] if options["auth"] == "on" else [])]
    process = subprocess.Popen(  # noqa: S603 - our own command
        command, env=variables, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        preexec_fn=tied(),  # noqa: PLW1509 - one thread, and nothing but a system call
    )  # fmt: skip
    while process.returncode is None:
        try:
            output, problem = process.communicate(timeout=TICK_S)
        except subprocess.TimeoutExpired:
            if is_over():
                process.terminate()
    if process.returncode == 0:
        return First(**json.loads(output.splitlines()[-1]))
    if is_over():
        return First(None, None)
    reason = " ".join(problem.splitlines()[-1:])
    raise CommandError(f"preparing the database failed: {reason}", returncode=FAILED)


def children(variables: dict[str, str], options: Mapping[str, Any]) -> list[Child]:
    """Return the processes, in order of start."""
    http = [
        sys.executable, "-m", "gunicorn", "--config", "python:ojs_project.gunicorn",
        "--bind", f"{_bracketed(options['host'])}:{options['port']}",
        "--workers", str(options["http_workers"]), "--threads", str(options["http_threads"]),
        "--log-level", "warning",
    ]  # fmt: skip
    found = [Child("http", http, variables)]
    found.append(Child("tasks", [*MANAGE, "qcluster"], variables))
    found += [
        Child(f"worker-{n}", [*MANAGE, "runworker"], variables)
        for n in range(1, options["workers"] + 1)
    ]
    return found


def base_url(options: Mapping[str, Any]) -> str:
    """Return the URL by which this machine reaches the server."""
    host = WILDCARDS.get(options["host"], options["host"])
    return f"http://{_bracketed(host)}:{options['port']}"


def _bracketed(host: str) -> str:
    """Return an address as URLs spell it, with brackets for IPv6."""
    return f"[{host}]" if ":" in host else host


def greeting(first: First, variables: Mapping[str, str], options: Mapping[str, Any]) -> str:
    """Return the text for the operator after the start, with the secrets that are shown once."""
    base = base_url(options)
    login = first.password or "the password of the first start"
    if {"OJS_ADMIN_PASSWORD", "OJS_ADMIN_PASSWORD_FILE"} & variables.keys():
        login = "the password in OJS_ADMIN_PASSWORD, if it was set at the first start"
    facts = {
        "Open Job Spec server": base,
        "console": f"{base}/console/",
        "login": f"admin / {login}",
    }
    header = ""
    if options["auth"] == "on":
        key = first.key or "$OJS_API_KEY"
        facts["API key"] = (
            first.key or f"the key of the first start, or: {COMMANDS} createapikey NAME"
        )
        # double quotes: the shell inserts the variable
        header = f'  -H "Authorization: Bearer {key}" \\\n'
    facts["data"] = str(options["folder"])
    shown = [name for name in ("DATABASE_URL", "OJS_SECRET_KEY_FILE") if not env.is_set(name)]
    facts[f"for {COMMANDS}"] = " ".join(
        f"{name}={quote(variables[name])}" for name in shown if name in variables
    )
    if options["demo"] and not env.is_set("OJS_LOG_LEVEL"):
        facts["log lines of jobs"] = "start with OJS_LOG_LEVEL=INFO; the demo has many"
    lines = "".join(f"  {name:22} {text}\n" for name, text in facts.items())
    waiting = "" if options["demo"] else NO_HANDLERS
    return (
        f"\n{lines}\n  curl {base}/ojs/v1/jobs \\\n"
        f"  -H 'Content-Type: application/json' \\\n{header}"
        """  -d '{"type": "demo.hello", "args": ["world"]}'\n"""
        f"{waiting}"
    )
