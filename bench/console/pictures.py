"""python -m bench.console.pictures: pictures of every page of the console, for the manual.

They come from a running demo: light, dark, and with the width of a telephone. Start it by
`manage.py quickstart --demo` with OJS_FEDERATION_LOCAL_REGION=us and
OJS_FEDERATION_ALLOW_PRIVATE=true. Names of hosts and paths of the machine are replaced before a
picture is taken.
"""

import argparse
import base64
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from bench.console.furnish import furnish
from tests.browser import find

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
MOST_BYTES = 3_000_000  # of all pictures
QUALITY = 42  # of webp, from 0 to 100
WAIT_MS = 30_000
# name: size of the screen, colours, scale of a pixel in the picture
FORMS = {
    "light": (1280, 860, "light", 0.625),
    "dark": (1280, 860, "dark", 0.625),
    "narrow": (360, 740, "light", 0.75),
}
# by name: a path, or a path and a link to follow on its page
PAGES: dict[str, str | tuple[str, str]] = {
    "overview": "",
    "attention": "attention/",
    "finding": ("attention/", ".findings b a"),
    "attention_rules": "attention/rules/",
    "attention_rule": "attention/rules/queue_late/",
    "jobs": "jobs/",
    "job": ("jobs/?state=discarded", "#live tbody th a"),
    "job_retry": ("jobs/?state=discarded", "#live tbody th a"),
    "job_clone": ("jobs/?state=completed", "#live tbody th a"),
    "job_arguments": ("jobs/?queue=payroll&state=available", "#live tbody th a"),
    "job_decode": ("jobs/?queue=cards&state=available", "#live tbody th a"),
    "operations": "operations/",
    "operation_new": "operations/new/?verb=retry&dead=1",
    "operation": ("operations/", "tbody th a"),
    "queues": "queues/",
    "queue": ("queues/", "tbody th a"),
    "queue_remove": "remove-queue/mail/",
    "dead_letter": "dead-letter/",
    "error_group": ("dead-letter/", "#groups tbody th a"),
    "events": "events/",
    "limits": "rate-limits/",
    "workers": "workers/",
    "worker": ("workers/", "tbody th a"),
    "audit": "audit/",
    "history": "history/",
    "version": ("history/?kind=queue&name=mail", "tbody th a"),
    "runbooks": "runbooks/",
    "note": "runbooks/notes/queue/mail/",
    "procedure": "runbooks/procedures/retry-mail/",
    "procedure_new": "runbooks/new-procedure/?about=queue&subject=mail",
    "api_keys": "api-keys/",
    "system": "system/",
    "regions": "regions/",
    "region_jobs": "regions/jobs/",
    "region_adopt": "regions/eu/adopt/",
    "region_forget": "regions/eu/forget/",
    "simulate": "simulate/",
    "simulated": ("simulate/", "main .rows a"),
    "crons": "cron/",
    "cron_new": "cron/new/",
    "cron": ("cron/", "tbody th a"),
    "cron_edit": ("cron/", "tbody th a"),
    "pools": "pools/",
    "pool_new": "new-pool/",
    "pool": ("pools/", "tbody th a"),
    "pool_edit": ("pools/", "tbody th a"),
    "tenants": "tenants/",
    "tenant_new": "new-tenant/",
    "tenant": ("tenants/", "tbody th a"),
    "tenant_edit": ("tenants/", "tbody th a"),
    "tenant_remove": ("tenants/", "tbody th a"),
    "types": "types/",
    "type": ("types/", "tbody th a"),
    "versions": "versions/",
    "versions_of_type": ("versions/", "tbody th a"),
    "version_removal": ("versions/", "tbody th a"),
    "version_touched": ("versions/", "tbody th a"),
    "rules_edit": ("versions/", "tbody th a"),
    "rules_new": "new-rules/",
    "schemas": "schemas/",
    "schema": ("schemas/", "tbody th a"),
    "webhooks": "webhooks/",
    "delivery": ("webhooks/", "#deliveries tbody th a"),
    "workflows": "workflows/",
    "workflow": ("workflows/", "tbody th a"),
}
# relative path from the page behind the link
BEHIND = {"job_retry": "retry/", "job_clone": "clone/", "job_arguments": "arguments/",
          "job_decode": "decode/",
          "cron_edit": "edit/", "pool_edit": "edit/", "tenant_edit": "edit/",
          "tenant_remove": "remove/",
          "version_removal": "removal/", "version_touched": "touched/",
          "rules_edit": "rules/"}  # fmt: skip
PRIVATE = """([pattern, host]) => {
  const private = new RegExp(pattern, "g");
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    const shown = node.data.replaceAll(private, "…/").replaceAll(host, "host-1");
    if (shown !== node.data) node.data = shown;
  }
}"""
PATHS = r"/(?:home|opt|work|tmp|root|usr|var|Users)/(?:[^\s\"',/]+/)*"


def main() -> int:
    """Take all pictures; returns 1 if a page did not answer or the pictures are too large."""
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=options.chromium, args=["--no-sandbox"]
        )
        _furnish(browser, options)
        failed = [failure for form in FORMS for failure in _take(browser, form, options)]
        browser.close()
    size = sum(file.stat().st_size for file in options.folder.glob("*.webp"))
    print(f"{size:,} bytes in {options.folder}")
    print("\n".join(failed))
    return int(bool(failed) or (size > MOST_BYTES and options.scale is None))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.console.pictures", description=__doc__)
    parser.add_argument("url", help="of the server, such as http://127.0.0.1:8080")
    parser.add_argument("login", help="name and password as the first start told them: admin/…")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--chromium", default=find())
    parser.add_argument("--only", default="", help="pages, parted by commas")
    parser.add_argument("--scale", type=float, default=None, help="of a pixel, to look closely")
    parser.add_argument("--width", type=int, default=None, help="of the screen")
    return parser.parse_args()


def _furnish(browser: Browser, options: argparse.Namespace) -> None:
    context = browser.new_context(base_url=f"{options.url}/console/")
    context.set_default_timeout(WAIT_MS)
    furnish(_logged_in(context, options.login), options.url)
    context.close()


def _take(browser: Browser, form: str, options: argparse.Namespace) -> Iterator[str]:
    """Take the pictures of one form; yields the pages that do not exist."""
    width, height, scheme, scale = FORMS[form]
    width = options.width or width
    context = browser.new_context(
        base_url=f"{options.url}/console/", viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light", locale="en-GB", timezone_id="UTC",
        reduced_motion="reduce",
    )  # fmt: skip
    context.set_default_timeout(WAIT_MS)
    page = _logged_in(context, options.login)
    wanted = options.only.split(",") if options.only else PAGES
    for name in wanted:
        if not _go(page, name):
            yield f"{form} {name}: there is none"
            continue
        file = options.folder / f"{name}-{form}.webp"
        file.write_bytes(_picture(page, (width, height), options.scale or scale))
    context.close()


def _logged_in(context: BrowserContext, login: str) -> Page:
    name, _, password = login.partition("/")
    page = context.new_page()
    page.goto("login/")
    page.get_by_label("Name").fill(name.strip())
    page.get_by_label("Password").fill(password.strip())
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(re.compile(r"/console/$"))
    return page


def _go(page: Page, name: str) -> bool:
    """Go to a page; returns whether it exists."""
    place = PAGES[name]
    path, link = place if isinstance(place, tuple) else (place, None)
    answer = page.goto(path)
    if link is not None:
        found = page.locator(link).first
        if not found.count():
            return False
        href = found.get_attribute("href") or ""
        answer = page.goto(
            page.evaluate("href => new URL(href, location).href", href) + BEHIND.get(name, "")
        )
    return bool(answer and answer.ok)


def _picture(page: Page, size: tuple[int, int], scale: float) -> bytes:
    page.wait_for_load_state("networkidle" if "events" not in page.url else "load")
    page.evaluate("document.activeElement?.blur()")
    page.evaluate(PRIVATE, [PATHS, os.uname().nodename])
    width, height = size
    taken = page.context.new_cdp_session(page).send(
        "Page.captureScreenshot",
        {"format": "webp", "quality": QUALITY,
         "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}},
    )  # fmt: skip
    return base64.b64decode(taken["data"])


if __name__ == "__main__":
    sys.exit(main())
