"""The site of the manual: its pages, its navigation, and the built site in a browser."""

import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import Browser, Page
from typing_extensions import override

from docs.site import DOCS, diagrams, markdown, reference, stage
from tests.conftest import ROOT
from tests.docs.site import FOLDER

WAIT_MS = 20_000  # on a busy machine
LOADED = re.compile(
    r"<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)=\"?(https?:)?//", re.I
)


class Configuration(yaml.SafeLoader):
    """Reads the configuration without the objects of Python in it."""


Configuration.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the pages of the site."""
    folder = tmp_path_factory.mktemp("pages")
    stage.stage(folder)
    return folder


def navigation() -> list[str]:
    """Return the pages of the navigation in its order."""
    read = yaml.load((ROOT / "mkdocs.yml").read_text(), Configuration)  # noqa: S506 - our loader
    return list(leaves(read["nav"]))


def leaves(entry: Any) -> Iterator[str]:
    """Yield the paths below an entry of the navigation."""
    match entry:
        case str():
            yield entry
        case list():
            for one in entry:
                yield from leaves(one)
        case dict():
            for one in entry.values():
                yield from leaves(one)


def test_each_page_is_in_the_navigation_once(staged: Path) -> None:
    pages = [path.relative_to(staged).as_posix() for path in staged.rglob("*.md")]

    assert sorted(navigation()) == sorted(pages)


def test_links_of_the_site_stay_in_the_site(staged: Path) -> None:
    broken = [
        (page.relative_to(staged).as_posix(), link.target)
        for page in staged.rglob("*.md")
        for link in markdown.links(page.read_text())
        if not stage.FOREIGN.match(link.target) and not leads_somewhere(page, link.target)
    ]

    assert broken == []


def leads_somewhere(page: Path, target: str) -> bool:
    """Return whether the page or the picture of a link is there."""
    path, _, anchor = target.partition("#")
    there = page.parent / path if path else page
    return there.is_file() and (not anchor or anchor in markdown.anchors(there.read_text()))


def test_a_link_to_a_test_names_it_and_its_file(staged: Path) -> None:
    page = (staged / "comparison.md").read_text()

    assert '<abbr title="tests/levels/test_level_4.py, test_' in page
    assert "../tests" not in page


def test_the_classes_of_blocks_are_invisible_and_titles_name_their_place(staged: Path) -> None:
    infos = {
        block.info for page in staged.rglob("*.md") for block in markdown.blocks(page.read_text())
    }

    assert {one for one in infos if one and not re.fullmatch(r'title="[^"]+"', one)} == set()
    assert {
        'title="shop/ojs_jobs.py"', 'title="config/settings.py (add at the end)"',
        'title="python manage.py shell"', 'title="output"', "",
    } <= infos  # fmt: skip


def test_each_diagram_has_its_picture_and_no_picture_is_left_over() -> None:
    there = {path.name for path in (DOCS / diagrams.PLACE).iterdir()}

    assert there == diagrams.all_diagrams().keys()


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("reference/python.md", "## `ojs_tasks.testing`"),
        ("reference/commands.md", "## `runworker`"),
        ("reference/commands.md", "`--concurrency CONCURRENCY`"),
        ("reference/http.md", "### `POST /ojs/v1/workers/fetch`"),
        ("reference/http.md", "### JobRequest"),
        ("adr/index.md", "(0001-claiming-in-functions.md)"),
    ],
)
def test_the_reference_comes_from_the_code(page: str, text: str, staged: Path) -> None:
    assert text in (staged / page).read_text()


def test_generated_pages_have_no_place_in_the_repository() -> None:
    assert [place for place in reference.pages() if (DOCS / place).exists()] == []


# --- the built site -------------------------------------------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a line for each request."""

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def built_site() -> Iterator[str]:
    """Return the URL of the built site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(FOLDER)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def visit(browser: Browser, built_site: str) -> Iterator[Page]:
    """Return a tab that fails the test at a request to another host or an error of a page."""
    context = browser.new_context(base_url=built_site)
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    wrong: list[str] = []
    context.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((built_site, "data:", "blob:"))
            else wrong.append(request.url)
        ),
    )
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    context.close()
    assert wrong == []


@pytest.mark.parametrize(
    "path",
    [
        "index.html", "project/readme.html", "architecture.html", "console.html",
        "comparison.html", "reference/http.html", "reference/python.html", "404.html",
    ],
)  # fmt: skip
def test_a_page_loads_nothing_from_another_host(path: str, visit: Page) -> None:
    visit.goto(f"/{path}", wait_until="networkidle")

    assert visit.locator("h1").first.is_visible()
    broken = "[...document.images].filter(one => one.complete && !one.naturalWidth).length"
    assert visit.evaluate(broken) == 0


@pytest.mark.usefixtures("built_site")
def test_no_page_names_a_file_of_another_host() -> None:
    found = [
        (page.relative_to(FOLDER).as_posix(), match[0])
        for page in FOLDER.rglob("*.html")
        for match in LOADED.finditer(page.read_text())
        if 'rel="canonical"' not in match[0]
    ]

    assert found == []


def test_the_search_finds_a_page_by_a_word_in_its_text(visit: Page) -> None:
    visit.goto("/index.html", wait_until="networkidle")

    visit.keyboard.press("Control+k")
    visit.keyboard.type("starvation")
    hit = visit.locator("a[href*='scheduling.html']").filter(has_text=re.compile("starv", re.I))
    hit.first.click()

    visit.wait_for_url("**/scheduling.html*")
