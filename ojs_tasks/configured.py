"""The settings of this package: `OJS`, and the options of `HTTPBackend` where `OJS` has none."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

APPS: Final = frozenset({"jobs", "jobs.apps.JobsConfig"})  # entries of INSTALLED_APPS
HTTP_BACKENDS: Final = frozenset(
    {"ojs_tasks.backends.HTTPBackend", "ojs_tasks.backends.http.HTTPBackend"}
)
# Options of HTTPBackend, and the setting of OJS that each stands for
OPTIONS: Final[Mapping[str, str]] = {
    "url": "SERVER", "key": "API_KEY", "api_key": "API_KEY", "ca": "CA", "allow_http": "ALLOW_HTTP",
}  # fmt: skip


def settings_of(django: Any) -> Mapping[str, Any]:
    """Return the setting `OJS` of a project; `django` has its settings, None for a process without.

    A project without the server's apps may name its only server in `TASKS` alone. Then the options
    of that backend stand for the missing `SERVER`, and for the key and the rest that goes with it.
    """
    own: Mapping[str, Any] = getattr(django, "OJS", None) or {}
    if own.get("SERVER") or not APPS.isdisjoint(getattr(django, "INSTALLED_APPS", ())):
        return own
    named = list(_backends(django))
    if len({one["SERVER"] for one in named}) != 1:
        return own
    return {**own, **named[0]}


def settings_for(address: str, django: Any) -> Mapping[str, Any]:
    """Return the settings to reach one server: its backend in `TASKS` may have a key of its own."""
    for one in _backends(django):
        if one["SERVER"].rstrip("/") == address.rstrip("/"):
            return {**settings_of(django), **one, "SERVER": address}
    return {**settings_of(django), "SERVER": address}


def from_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an HTTPBackend as settings of `OJS`."""
    return {OPTIONS[name]: value for name, value in options.items() if name in OPTIONS}


def _backends(django: Any) -> Iterator[dict[str, Any]]:
    """Yield the settings of each HTTPBackend that names a server."""
    tasks = getattr(django, "TASKS", None)
    for backend in tasks.values() if isinstance(tasks, Mapping) else ():
        if isinstance(backend, Mapping) and backend.get("BACKEND") in HTTP_BACKENDS:
            found = from_options(backend.get("OPTIONS") or {})
            if isinstance(found.get("SERVER"), str):
                yield found
