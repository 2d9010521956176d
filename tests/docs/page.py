"""Run the code blocks of a page in a host project, in their order."""

import json
import os
import re
import signal
import subprocess
from types import TracebackType
from typing import Final, Self

from docs.site.classes import LIVE, Class, class_of
from docs.site.markdown import Block
from tests.docs.host import Host
from tests.processes import DEADLINE_S

# runs each block that it reads from its standard input; all blocks share their names
INTERPRETER: Final = """
import contextlib, io, json, sys, traceback
import django
django.setup()
scope = {"__name__": "__main__"}
for line in sys.stdin:
    output, error = io.StringIO(), None
    with contextlib.redirect_stdout(output):
        try:
            exec(compile(json.loads(line), "<page>", "exec"), scope)
        except BaseException:
            error = traceback.format_exc()
    print(json.dumps([output.getvalue(), error]), flush=True)
"""


class PageFailed(AssertionError):
    """Error: a block of a page failed, or had another output."""


class Page:
    """The blocks of a page that run, in a host."""

    def __init__(self, host: Host) -> None:
        """Start nothing yet."""
        self._host = host
        self._output = ""  # of the latest block
        self._python: subprocess.Popen[str] | None = None
        self._written: set[str] = set()  # modules
        self._unproven = False  # modules that no process may have imported
        self._background: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        """Return the page."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        """End all processes of the page."""
        self._end_python()
        for process in self._background:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(DEADLINE_S)
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

    def run(self, blocks: list[Block]) -> int:
        """Run the blocks whose class is live; returns their number. Raises PageFailed."""
        live = [(block, class_of(block)) for block in blocks]
        live = [(block, kind) for block, kind in live if kind.name in LIVE]
        for block, kind in live:
            if kind.name in {"file", "append"}:
                self._write(kind, block.text)
            else:
                self._run(kind.name, block)
        if self._unproven:
            self._import()
        return len(live)

    def _run(self, name: str, block: Block) -> None:
        match block.language, name:
            case _, "output":
                self._compare(block)
            case "python", _:
                self._execute(block)
            case _, "background":
                self._start(block)
            case _:
                self._shell(block, requests=name == "request")

    def _write(self, kind: Class, text: str) -> None:
        """Write to a file; the next block of Python runs in a new interpreter, which imports it."""
        self._end_python()
        path, is_new = kind.detail, kind.name == "file"
        target = self._host.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("w" if is_new else "a") as file:
            file.write(self._host.read(text if is_new else f"\n\n{text}"))
        if path.endswith(".py"):
            self._written.add(path.removesuffix(".py").replace("/", "."))
            self._unproven = True

    def _import(self) -> None:
        """Import all modules of the page: the last of them may not have run yet."""
        lines = "".join(f"import {module}\n" for module in sorted(self._written))
        self._execute(Block(0, "python", "", lines))

    def _execute(self, block: Block) -> None:
        self._unproven = False
        if self._python is None:
            self._python = subprocess.Popen(
                [self._host.python, "-c", INTERPRETER], cwd=self._host.folder,
                env=self._host.environment, text=True, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )  # fmt: skip
        assert self._python.stdin is not None
        assert self._python.stdout is not None
        self._python.stdin.write(json.dumps(self._host.read(block.text)) + "\n")
        self._python.stdin.flush()
        answer = self._python.stdout.readline()
        if not answer:
            raise PageFailed(f"line {block.line}: the interpreter ended")
        self._output, error = json.loads(answer)
        if error:
            raise PageFailed(f"line {block.line}: {error}")

    def _end_python(self) -> None:
        if self._python is not None:
            self._python.communicate()
            self._python = None

    def _shell(self, block: Block, *, requests: bool = False) -> None:
        text = self._host.read(block.text)
        if requests:
            text = text.replace("curl ", "curl --silent --fail-with-body ")
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", text], cwd=self._host.folder,
            env=self._host.environment, text=True, capture_output=True, check=False,
            timeout=DEADLINE_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self._output = done.stdout
        if done.returncode:
            raise PageFailed(f"line {block.line}: {done.stdout}{done.stderr}")

    def _start(self, block: Block) -> None:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {self._host.read(block.text)}"], cwd=self._host.folder,
            env=self._host.environment, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self._background.append(process)

    def _compare(self, block: Block) -> None:
        pattern = ".*".join(map(re.escape, block.text.strip().split("…")))
        if not re.fullmatch(pattern, self._output.strip(), re.DOTALL):
            raise PageFailed(f"line {block.line}: the output was:\n{self._output}")
