"""The OpenAPI document of the API below a prefix of a project."""

from typing import Any

from jobs.api.base import OJSView
from jobs.api.document import Generator
from jobs.api.schemas import Schema


class Mounted(Generator):
    """Describes the operations below a prefix, which becomes the server of the document.

    The project's own views have no place in it.
    """

    def __init__(self, mount: str) -> None:
        """Take the prefix; "": the root of the server."""
        super().__init__()  # type: ignore[no-untyped-call]  # its base has no types
        self._mount = mount

    def _initialise_endpoints(self) -> None:
        super()._initialise_endpoints()  # type: ignore[no-untyped-call]
        found: Any = self.endpoints  # its stubs describe those of DRF
        self.endpoints = [
            (path.removeprefix(self._mount), regex, method, callback)  # type: ignore[misc]
            for path, regex, method, callback in found
            if path.startswith(f"{self._mount}/") and issubclass(callback.cls, OJSView)
        ]

    def get_schema(self, request: Any = None, public: bool = True) -> Schema:  # noqa: FBT001, FBT002 - its signature
        """Build the document."""
        return {**super().get_schema(request, public), "servers": [{"url": self._mount or "/"}]}
