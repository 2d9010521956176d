"""`HTTPBackend`: tasks as jobs of a server at a distance."""

from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, Final

from django.core.checks import CheckMessage, Error

from ojs_tasks.backends.base import OJSBackend
from ojs_tasks.server import REMOTE, Server, settings, stand_in, with_codecs

# Options, and the setting of OJS that each stands for
SETTINGS: Final[Mapping[str, str]] = {
    "url": "SERVER", "key": "API_KEY", "api_key": "API_KEY", "ca": "CA", "allow_http": "ALLOW_HTTP",
}  # fmt: skip


class HTTPBackend(OJSBackend):
    """Stores tasks over HTTP. `url` and `key` name the server and its API key.

    Options that are not given come from the setting OJS.
    """

    own_options: ClassVar = frozenset(SETTINGS)

    @property
    def server(self) -> Server:
        """The client of the server; in a test in memory the server of the test."""
        return stand_in(remote=True) or self._remote

    @cached_property
    def _remote(self) -> Server:
        given = {SETTINGS[name]: one for name, one in self.options.items() if name in SETTINGS}
        made: Server = import_module(REMOTE).RemoteServer({**settings(), **given})
        return with_codecs(made)

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """Return the problems of the settings of this backend."""
        found = super().check(**kwargs)
        if not (self.options.get("url") or settings().get("SERVER")):
            found.append(
                Error(
                    f"TASKS[{self.alias!r}]['OPTIONS'] has no url.",
                    hint="Set 'url' to the server's address and 'key' to an API key, or set OJS.",
                    id="ojs_tasks.E105",
                )
            )
        return found
