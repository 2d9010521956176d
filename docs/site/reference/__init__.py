"""The pages that code generates: the Python API, the commands, the HTTP API, events, decisions."""

from docs.site.reference import commands, decisions, events, http_api, python_api


def pages() -> dict[str, str]:
    """Return the text of each generated page by its place on the site."""
    return {
        "reference/python.md": python_api.page(),
        "reference/commands.md": commands.page(),
        "reference/http.md": http_api.page(),
        "reference/events.md": events.page(),
        "adr/index.md": decisions.page(),
    }
