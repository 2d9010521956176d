"""Each code block of the manual has a class, and holds by its class.

CONTRIBUTING.md lists the classes. Blocks that run, run in the order of their page.
"""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import httpx
import pytest
import yaml

from docs.site import markdown, stage
from docs.site.classes import LIVE, WrongClass, class_of
from docs.site.markdown import Block
from tests.conftest import ROOT
from tests.docs.host import Host
from tests.docs.page import Page, PageFailed
from tests.processes import DEADLINE_S

SERVER = re.compile(r"http://(?:localhost|127\.0\.0\.1):8000")
# their blocks get classes once their present rewrite is over: until then they only compile
WITHOUT = dict.fromkeys(
    (f"docs/{name}.md" for name in ("django-tasks", "handlers", "performance", "remote")),
    "compile: not classed",
)


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page."""
    usual = WITHOUT.get(page.relative_to(ROOT).as_posix(), "")
    return [
        Block(one.line, one.language, usual, one.text)
        if usual and one.language in {"python", "sh"} and not one.info
        else one
        for one in markdown.blocks(page.read_text())
    ]


PAGES = [page.source for page in stage.pages()]
BLOCKS = [(page, block) for page in PAGES for block in blocks_of(page)]


def of_class(*names: str) -> list[object]:
    """Return the parameters of the blocks of some classes."""
    return [
        pytest.param(block, id=f"{page.relative_to(ROOT)}:{block.line}")
        for page, block in BLOCKS
        if class_of(block).name in names
    ]


def live_pages() -> list[Path]:
    """Return the pages with blocks that run, and a page that has each kind of them."""
    sample = Path(__file__).parent / "sample.md"
    return [sample, *sorted({page for page, block in BLOCKS if class_of(block).name in LIVE})]


@pytest.mark.parametrize("block", of_class("parse", "file", "append", "compile", "run"))
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


@pytest.mark.parametrize("block", of_class("request"))
def test_a_request_succeeds(block: Block, server: str) -> None:
    httpx.post(f"{server}/ojs/v1/admin/reset", timeout=DEADLINE_S).raise_for_status()
    line = SERVER.sub(server, block.text).replace("curl ", "curl --silent --fail-with-body ", 1)

    done = subprocess.run(
        ["/bin/sh", "-e", "-c", line], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", live_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_of_a_page_run_in_their_order(page: Path, project: Host) -> None:
    with Page(project) as run:
        assert run.run(blocks_of(page))


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
