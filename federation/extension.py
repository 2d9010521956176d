"""The app's part in the core."""

from collections.abc import Sequence

from federation.services import regions
from jobs.extensions import Extension


class Federation(Extension):
    """Regions. Spec: federation."""

    def forget(self) -> None:
        """Read the regions anew."""
        regions.forget()

    def tables(self) -> Sequence[str]:
        """Name the tables of the router."""
        return (
            "ojs_federation_health", "ojs_federation_load", "ojs_federation_region",
            "ojs_federation_config",
        )  # fmt: skip
