"""`HTTPBackend`: tasks as jobs of a server at a distance."""

from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

from django.core.checks import CheckMessage, Error

from ojs_tasks.backends.base import OJSBackend
from ojs_tasks.configured import OPTIONS, from_options
from ojs_tasks.exceptions import NoServer
from ojs_tasks.server import REMOTE, REMOTE_SETTINGS, Server, settings, stand_in, with_codecs


class HTTPBackend(OJSBackend):
    """Stores tasks over HTTP. `url` and `key` name the server and its API key.

    Options that are not given come from the setting OJS.
    """

    own_options: ClassVar = frozenset(OPTIONS)

    @property
    def server(self) -> Server:
        """The client of the server; in a test in memory the server of the test."""
        return stand_in(remote=True) or self._remote

    @cached_property
    def _remote(self) -> Server:
        made: Server = import_module(REMOTE).RemoteServer(self._options_of_server())
        return with_codecs(made)

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """Return the problems of the settings of this backend."""
        found = super().check(**kwargs)
        where = f"TASKS[{self.alias!r}]['OPTIONS']"
        if not (self.options.get("url") or settings().get("SERVER")):
            found.append(
                Error(
                    f"{where} has no url.",
                    hint="Set 'url' to the server's address and 'key' to an API key, or set OJS.",
                    id="ojs_tasks.E105",
                )
            )
        elif problem := self._wrong_setting():
            names = ", ".join(f"{name} is OJS[{key!r}]" for name, key in OPTIONS.items())
            found.append(
                Error(f"{where}: {problem}", hint=f"Of the options {names}.", id="ojs_tasks.E107")
            )
        return found

    def _wrong_setting(self) -> str:
        try:
            import_module(REMOTE_SETTINGS).RemoteSettings.of(self._options_of_server())
        except NoServer as problem:
            return str(problem)
        return ""

    def _options_of_server(self) -> Mapping[str, Any]:
        return {**settings(), **from_options(self.options)}
