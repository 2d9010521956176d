"""Find the browser of the browser tests, or install one.

`python -m tests.browser` prints the path of a browser that starts. If the machine has none, the
command installs one: by apt for root, otherwise by Playwright's own download. If both fail, it
prints NONE. A test run itself never installs a browser. It leaves the browser tests out if it finds
none.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

VARIABLE: Final = "OJS_TEST_BROWSER"
NONE: Final = "none"  # value of the variable: leave the browser tests out
NAMES: Final = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "microsoft-edge",
)  # fmt: skip
PLACES: Final = ("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",)
HOW: Final = f"put chromium or chrome on the PATH, or name one in {VARIABLE}"
STARTS_S: Final = 60
GETS_S: Final = 600


class NoBrowser(Exception):
    """Error: OJS_TEST_BROWSER names a program that is no browser."""


def find() -> str | None:
    """Return the path of a browser that starts, or None. Raises NoBrowser."""
    chosen = os.environ.get(VARIABLE)
    if chosen == NONE:
        return None
    if chosen:
        path = shutil.which(chosen)
        if path is None or not _starts(path):
            raise NoBrowser(f"{VARIABLE} is {chosen!r}, which does not start as a browser")
        return path
    return next(filter(_starts, _candidates()), None)


def get() -> str | None:
    """Return the path of a browser; install one if the machine has none."""
    found = find()
    if found or os.environ.get(VARIABLE) == NONE:
        return found
    for way in (_by_apt, _by_playwright):
        if way() and (found := find()):
            return found
    return None


def _candidates() -> Iterator[str]:
    for name in NAMES:
        if path := shutil.which(name):
            yield path
    yield from filter(os.path.exists, PLACES)
    if path := _of_playwright():
        yield path


def _of_playwright() -> str | None:
    """Return the path of Playwright's own browser, or None if it was not downloaded."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - slow

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def _starts(path: str) -> bool:
    """Return whether the program is a browser: some are stubs that only advise an install."""
    try:
        done = subprocess.run(
            [path, "--version", "--no-sandbox"],
            capture_output=True, text=True, check=False, timeout=STARTS_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and any(char.isdigit() for char in done.stdout)


def _by_apt() -> bool:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    _say("installing chromium by apt")
    return all(
        _run(["apt-get", *words], {"DEBIAN_FRONTEND": "noninteractive"})
        for words in (["update", "-qq"], ["install", "-y", "-qq", "chromium"])
    )


def _by_playwright() -> bool:
    _say("downloading the browser of Playwright")
    return _run([sys.executable, "-m", "playwright", "install", "chromium"], {})


def _run(command: list[str], variables: dict[str, str]) -> bool:
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            command, env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
            capture_output=True, check=False, timeout=GETS_S,
        )  # fmt: skip
        return done.returncode == 0
    return False


def _say(text: str) -> None:
    sys.stderr.write(f"browser tests: {text}\n")


def main() -> None:
    """Print the path of a browser, or print NONE and log the reason."""
    try:
        found = get()
    except NoBrowser as problem:
        sys.exit(str(problem))
    if found is None:
        _say(f"no browser was found or could be installed; {HOW}")
    sys.stdout.write(found or NONE)


if __name__ == "__main__":
    main()
