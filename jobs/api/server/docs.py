"""The API's own description: the OpenAPI document and a page to read it. Spec: contract 3, 31."""

from functools import lru_cache
from typing import Any
from urllib.parse import quote

import orjson
from django.templatetags.static import static
from rest_framework.request import Request

from jobs.api.access.session import login_page
from jobs.api.base import OJSView
from jobs.api.mount import mount_of
from jobs.api.openapi import operation
from jobs.api.schemas import OBJECT, text
from jobs.api.server.mounted import Mounted
from jobs.api.wire.answer import Answer
from jobs.api.wire.media import JSON_TYPE
from jobs.domain.errors import Unauthenticated

MOUNTS = 4  # prefixes with a document in the cache
HTML = "text/html; charset=utf-8"
# the viewer sets style attributes and draws its icons from data: URLs
CSP = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; frame-ancestors 'none'; base-uri 'none'"
)
ASSETS = "drf_spectacular_sidecar/swagger-ui-dist"
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Open Job Spec API</title>
<link rel="icon" href="{assets}/favicon-32x32.png">
<link rel="stylesheet" href="{assets}/swagger-ui.css">
<div id="ojs-api-docs" data-ojs-url="openapi.json"></div>
<script src="{assets}/swagger-ui-bundle.js"></script>
<script src="{start}"></script>
</html>
"""


@lru_cache(MOUNTS)
def document(mount: str = "") -> bytes:
    """Return the OpenAPI document of the API below a prefix, generated once."""
    return orjson.dumps(Mounted(mount).get_schema())


class OpenAPIDocument(OJSView):
    """The OpenAPI document."""

    @operation("getOpenAPI", {200: None}, media={JSON_TYPE: OBJECT})
    def get(self, request: Request) -> Answer:
        """Show this document."""
        return Answer(document(mount_of(self.http)), media=JSON_TYPE)


class Docs(OJSView):
    """A page that shows the document and sends requests from the browser."""

    @operation("getDocs", {200: None, 302: None}, media={HTML: text()})
    def get(self, request: Request) -> Answer:
        """Show the page, made of files of this server only."""
        page = PAGE.format(assets=static(ASSETS), start=static("ojs/api-docs.js"))
        return Answer(page.encode(), media=HTML, headers={"Content-Security-Policy": CSP})

    def handle_exception(self, exc: Exception) -> Any:
        """Send browsers without a login to the login page."""
        accept = self.request.headers.get("Accept", "")
        if isinstance(exc, Unauthenticated) and "text/html" in accept:
            login = f"{login_page()}?next={quote(self.request.path)}"
            return Answer(None, status=302, headers={"Location": login})
        return super().handle_exception(exc)
