"""A host project with `ojs_tasks` alone; packages with the names of the server's apps raise."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import ROOT
from tests.processes import kill_family
from tests.project.conftest import clean_environment

OURS = (
    "jobs", "tenancy", "scheduling", "versioning", "federation", "webhooks", "workflows",
    "encryption", "durable", "console", "ojs_project",
)  # fmt: skip
FILES = {
    "manage.py": """
import os, sys
from django.core.management import execute_from_command_line
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "host_settings")
execute_from_command_line(sys.argv)
""",
    "host_settings.py": """
import os
from pathlib import Path
SECRET_KEY = "x" * 50
INSTALLED_APPS = ["ojs_tasks", "shop"]
USE_TZ = True
OJS = {
    "SERVER": os.environ.get("HOST_SERVER", ""),
    "API_KEY": Path(os.environ["HOST_KEY_FILE"]),
    "SHUTDOWN_GRACE_MS": int(os.environ.get("HOST_GRACE_MS", "20000")),
    "TRACE_HANDLERS": os.environ.get("HOST_TRACE_HANDLERS", "link"),
    "EXECUTION_MIDDLEWARE": ["shop.around.counted"],
}
""",
    "shop/__init__.py": "",
    "shop/around.py": """
def counted(context, following):
    found = following(context)
    return {**found, "around": context.type} if isinstance(found, dict) else found
""",
    "shop/ojs_jobs.py": """
import asyncio, os, socket, time
from ojs_tasks import Discard, Retry, current_job, group, job, step

ONE = {"max_attempts": 1}

@job("shop.add", queue="shop")
def add(a: int, b: int = 0) -> dict:
    return {"sum": a + b}

@job("shop.aadd", queue="shop")
async def aadd(a: int, b: int) -> dict:
    await asyncio.sleep(0)
    return {"sum": a + b}

@job("shop.fail", queue="shop", retry=ONE)
def fail(text: str) -> None:
    raise LookupError(text)

@job("shop.discard", queue="shop")
def discard() -> None:
    raise Discard("not needed")

@job("shop.again", queue="shop", retry={"max_attempts": 3, "initial_interval": 3600})
def again() -> int:
    if current_job().attempt == 1:
        raise Retry(in_=0)
    return current_job().attempt

@job("shop.dont", queue="shop", dont_retry_for=(ValueError,))
def dont() -> None:
    raise ValueError("for good")

@job("shop.strange", queue="shop", retry=ONE)
def strange() -> object:
    return object()

@job("shop.nul", queue="shop", retry=ONE)
def nul() -> str:
    return "a\\0b"

@job("shop.spin", queue="shop", timeout=1, retry=ONE)
def spin() -> None:
    while True:
        time.sleep(0.01)

@job("shop.report", queue="shop")
def report() -> dict:
    current_job().progress(0.5, "half", {"rows": 10})
    return {}

@job("shop.steps", queue="shop", retry=ONE)
def steps(number: int) -> dict:
    first = step("first", add, number, 1)
    payload = step.wait_for("go")
    step.sleep("nap", 0.2)
    return {**first, "payload": payload, "attempt": current_job().attempt}

@job("shop.asteps", queue="shop", retry=ONE)
async def asteps(number: int) -> dict:
    first, second = await asyncio.gather(
        step("first", aadd, number, 1), step("second", aadd, number, 2))
    payload = await step.wait_for("go")
    await step.sleep("nap", 0.2)
    total = first["sum"] + second["sum"]
    return {"sum": total, "payload": payload, "attempt": current_job().attempt}

@job("shop.parent", queue="shop", retry=ONE)
def parent(number: int) -> dict:
    first = step.run_job(add.s(number, 1), cancel="with_parent")
    return {**first, "attempt": current_job().attempt}

@job("shop.aparent", queue="shop", retry=ONE)
async def aparent(number: int) -> dict:
    found = await asyncio.gather(*[
        step.arun_job(aadd.s(number, n), name=f"add-{n}") for n in (1, 2)])
    flow = await step.arun_job(group(add.s(1), add.s(2)))
    return {"sums": [one["sum"] for one in (*found, *flow)]}

@job("shop.meet", queue="shop", retry={"max_attempts": 3, "initial_interval": 0.1})
def meet(address: str) -> dict:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        line.sendall(f"{os.getpid()} {current_job().attempt}\\n".encode())
        said = line.recv(100).decode()
    return {"said": said, "cancelled": current_job().is_cancelled()}
""",
    **{f"{name}/__init__.py": f"raise ImportError('{name} was imported')" for name in OURS},
}


@dataclass
class Project:
    """The project in a folder; `started` are its processes."""

    folder: Path
    variables: Mapping[str, str]
    started: list["subprocess.Popen[str]"] = field(default_factory=list)

    def start(self, *arguments: str, **variables: str) -> "subprocess.Popen[str]":
        """Start Python with these arguments in the project."""
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=self.folder, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**clean_environment(), **self.variables, **variables},
        )  # fmt: skip
        self.started.append(process)
        return process

    def run(self, *arguments: str, **variables: str) -> str:
        """Run Python in the project to its end; return its output."""
        process = self.start(*arguments, **variables)
        output, errors = process.communicate()
        assert process.returncode == 0, errors
        return output

    def end(self) -> None:
        """End all processes."""
        for process in self.started:
            if process.poll() is None:
                kill_family(process.pid)
            process.communicate()


def project(folder: Path, server: str, key: str) -> Iterator[Project]:
    """Make the project for a server."""
    for path, text in FILES.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    (folder / "ojs_tasks").symlink_to(ROOT / "ojs_tasks")
    (folder / "key").write_text(key + "\n")
    made = Project(
        folder,
        {"HOST_SERVER": server, "HOST_KEY_FILE": str(folder / "key"), "PYTHONPATH": str(folder),
         "DJANGO_SETTINGS_MODULE": "host_settings"},
    )  # fmt: skip
    yield made
    made.end()


Start = Callable[..., "subprocess.Popen[str]"]
