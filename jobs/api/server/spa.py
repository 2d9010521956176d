"""Serve the official admin UI at /ojs/admin/, if its files are installed. Spec: contract 24.5.

It is a single-page application with history routing. Every path below is answered by its index. A
path below `assets/` is answered by that file, also one level deeper, where deep links resolve it.
"""

import base64
import hashlib
import mimetypes
import re
from pathlib import Path
from urllib.parse import quote

from django.core.exceptions import SuspiciousFileOperation
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils._os import safe_join
from django.views.decorators.http import require_safe

from jobs.api.access.session import login_page, staff
from jobs.api.problems import plain_error
from jobs.conf import conf
from jobs.domain.errors import NotFound

SCRIPT = re.compile(rb"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL | re.IGNORECASE)
YEAR_S = 31_536_000
HELP = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>OJS admin UI</title>
<h1>The admin UI is not installed</h1>
<p>Build the official OJS admin UI, put its files (<code>index.html</code> and <code>assets/</code>)
into a directory and start the server with <code>OJS_ADMIN_UI_DIR</code> naming it.</p>
<p>Without it use <a href="/console/">the console</a>.</p>
</html>
"""


@require_safe
def admin_ui(request: HttpRequest, path: str = "") -> HttpResponse:
    """Answer with a file of the UI, its index, or how to install it."""
    folder = conf().admin_ui_dir
    if not folder:
        return HttpResponse(HELP, headers=_headers(b""))
    if "assets/" in path or _is_file(folder, path):
        return _asset(request, folder, path)
    if conf().auth != "off" and staff(request) is None:
        login = f"{login_page()}?next={quote(request.path)}"
        return HttpResponseRedirect(login)
    index = Path(folder) / "index.html"
    if not index.is_file():
        return HttpResponse(HELP, headers=_headers(b""))
    page = index.read_bytes()
    return HttpResponse(page, headers={**_headers(page), "Cache-Control": "no-cache"})


def _is_file(folder: str, path: str) -> bool:
    found = _below(folder, path)
    return bool(path) and found is not None and found.is_file() and found.name != "index.html"


def _asset(request: HttpRequest, folder: str, path: str) -> HttpResponse:
    place = path[path.index("assets/") :] if "assets/" in path else path
    found = _below(folder, place)
    if found is None or not found.is_file():
        return plain_error(NotFound(f"no resource at {request.path[:200]}"), request)
    kind = mimetypes.guess_type(found.name)[0] or "application/octet-stream"
    # names of assets change with their content
    keep = f"public, max-age={YEAR_S}, immutable" if "assets/" in place else "no-cache"
    return HttpResponse(
        found.read_bytes(),
        content_type=kind,
        headers={"Cache-Control": keep, "X-Content-Type-Options": "nosniff"},
    )


def _below(folder: str, path: str) -> Path | None:
    """Return a path inside the folder, None for one that leads out of it."""
    try:
        found = Path(safe_join(folder, path)).resolve()
    except (SuspiciousFileOperation, ValueError):
        return None
    return found if found.is_relative_to(Path(folder).resolve()) else None


def _headers(page: bytes) -> dict[str, str]:
    """Return the headers of a page: everything from this server, and its own inline scripts."""
    hashes = [
        base64.b64encode(hashlib.sha256(text).digest()).decode() for text in SCRIPT.findall(page)
    ]
    scripts = " ".join(["'self'", *(f"'sha256-{digest}'" for digest in hashes)])
    policy = (
        f"default-src 'self'; script-src {scripts}; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; object-src 'none'; frame-ancestors 'none'; base-uri 'none'"
    )
    return {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff"}
