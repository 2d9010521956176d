"""Each code block of the manual has a class, and holds by its class.

CONTRIBUTING.md lists the classes. Blocks that run, run in the order of their page.
"""

import json
import re
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from django.core.management import CommandError

from docs.site import markdown, stage
from docs.site.classes import LIVE, WrongClass, class_of
from docs.site.markdown import Block
from tests.conftest import ROOT
from tests.docs import options
from tests.docs.conftest import MakeHost
from tests.docs.host import OF_PAGE, Host, Kind
from tests.docs.page import Page, PageFailed
from tests.processes import DEADLINE_S

pytestmark = pytest.mark.xdist_group("docs")  # they share a database, a project and a server

# addresses of servers that the manual names
SERVERS = re.compile(r"https?://(?:(?:localhost|127\.0\.0\.1):8000|(?:jobs|us|eu)\.example\.org)")
REGION = re.compile(r"https://(?:us|eu)\.")
README = ROOT / "README.md"
LONG = pytest.mark.long
SLOW = {  # they start many processes
    "celery.md", "django-tasks.md", "federation.md", "handlers.md", "host.md", "remote.md",
    "sample.md", "testing.md", "workflows.md",
}  # fmt: skip
KEY_FILE = "/run/secrets/ojs-key"
PAGES = [page.source for page in stage.pages()]
BLOCKS = [(page, block) for page in PAGES for block in markdown.blocks(page.read_text())]


def of_class(*names: str) -> list[object]:
    """Return the parameters of the blocks of some classes."""
    return [
        pytest.param(block, id=f"{page.relative_to(ROOT)}:{block.line}")
        for page, block in BLOCKS
        if class_of(block).name in names
    ]


def live_pages() -> list[object]:
    """Return the pages with blocks that run, and a page that has each kind of them."""
    sample = Path(__file__).parent / "sample.md"
    pages = [sample, *sorted({page for page, block in BLOCKS if class_of(block).name in LIVE})]
    return [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=[LONG] * (page.name in SLOW))
        for page in pages
    ]


@pytest.mark.parametrize("block", of_class("parse", "file", "append", "compile", "run", "options"))
def test_a_block_is_correct_in_its_language(block: Block) -> None:
    match block.language:
        case "python":
            compile(block.text, "<page>", "exec")
        case "sh":
            subprocess.run(["/bin/sh", "-n", "-c", block.text], check=True)
        case "json":
            json.loads(block.text)
        case "yaml":
            yaml.safe_load(block.text)
        case "toml":
            tomllib.loads(block.text)
        case "http":
            parse_request(block.text)


def parse_request(text: str) -> None:
    """Check a request or a response with a JSON body."""
    head, _, body = text.partition("\n\n")
    first, *headers = head.splitlines()
    assert re.fullmatch(r"(GET|PUT|POST|PATCH|DELETE) /\S*|HTTP/1\.1 \d{3} .+", first), first
    assert all(re.fullmatch(r"[\w-]+: .+", line) for line in headers), headers
    if body.strip():
        json.loads(body)


@pytest.mark.parametrize("block", of_class("options"))
def test_commands_that_do_not_run_have_these_options(block: Block) -> None:
    assert options.check(block.text)


@pytest.mark.parametrize(
    "line",
    ["make bench ARGS='--speed 1'", "make fly", "python manage.py runworker --fast", "fly"],
)
def test_an_unknown_command_or_option_is_found(line: str) -> None:
    with pytest.raises((AssertionError, CommandError, SystemExit, subprocess.CalledProcessError)):
        options.check(line)


@pytest.mark.parametrize("page", live_pages())
def test_the_blocks_of_a_page_run_in_their_order(
    page: Path, make_host: MakeHost, request: pytest.FixtureRequest
) -> None:
    text = page.read_text()
    host = make_host(OF_PAGE.get(page.name, Kind.APPS))
    if named := set(SERVERS.findall(text)):
        host = with_server(host, named, request.getfixturevalue("served"))

    with Page(host) as run:
        assert run.run(markdown.blocks(text))


def with_server(host: Host, named: set[str], url: str) -> Host:
    """Return a project whose blocks reach a server, with a key that they may read.

    The server has no certificate, so a region at its address needs `allow_insecure`.
    """
    regions = {f'"{one}"': f'"{url}", allow_insecure=True' for one in named if REGION.match(one)}
    key = host.folder / "ojs-key"
    key.write_text("unused")
    return replace(
        host,
        stand_ins={**host.stand_ins, KEY_FILE: str(key), **regions, **dict.fromkeys(named, url)},
        environment={**host.environment, "JOBS_KEY": "unused", "EU_TOKEN": "unused"},
    )


def test_the_first_job_with_curl(served: str) -> None:
    (lines,) = [
        block.text for page, block in BLOCKS if page == README and "workers/ack" in block.text
    ]
    enqueue, fetch, ack = lines.split("\n\n")

    stored = curl(enqueue, served)["job"]
    (taken,) = curl(fetch, served)["jobs"]
    done = curl(ack, served, JOB=taken["id"])

    assert taken["id"] == stored["id"]
    assert (done["acknowledged"], done["state"]) == (True, "completed")
    shown = httpx.get(f"{served}/ojs/v1/jobs/{stored['id']}", timeout=DEADLINE_S).json()["job"]
    assert shown["result"] == {"pages": 2}


def curl(line: str, url: str, **variables: str) -> dict[str, Any]:
    """Run a curl line in a shell and return the answer."""
    done = subprocess.run(
        ["/bin/sh", "-c", SERVERS.sub(url, line)], env={"PATH": "/usr/bin:/bin", **variables},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_process_in_the_background_ends_with_its_page(project: Host) -> None:
    (block,) = markdown.blocks("```sh background\nsleep 600\n```\n")
    with Page(project) as page:
        page.run([block])
        (process,) = page._background
        assert process.poll() is None

    assert process.returncode is not None


@pytest.mark.parametrize(
    "text",
    [
        "```python run\n1 / 0\n```\n",
        "```sh run\nfalse\ntrue\n```\n",
        "```sh run\necho 2\n```\n\n```text output\n3\n```\n",
    ],
)
def test_a_block_that_fails_fails_its_page(text: str, project: Host) -> None:
    with Page(project) as page, pytest.raises(PageFailed):
        page.run(markdown.blocks(text))


@pytest.mark.parametrize(
    "info",
    ["", "python", "python compile", "python output", "sh", "json show", "cobol", "sh go: x"],
)
def test_a_block_without_a_right_class_is_an_error(info: str) -> None:
    (block,) = markdown.blocks(f"```{info}\n1\n```\n")

    with pytest.raises(WrongClass):
        class_of(block)
