"""The app's part in the core: loops of the router, metrics, a line in the manifest."""

from collections.abc import Iterable, Sequence

from prometheus_client import Metric

from federation.services import exposition, regions
from federation.services.attend import Counter, Prober
from jobs.extensions import Extension, Facts, Label, Loop

prober = Prober()
counter = Counter()


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

    def loops(self) -> Iterable[Loop]:
        """Probe the regions and collect their loads, unless `runworker --no-federation`."""
        yield Loop("federation_probe", prober.turn, 500)
        yield Loop("federation_load", counter.turn, 1_000)

    def metrics(self, label: Label) -> Iterable[Metric]:
        """Contribute how the regions are."""
        return exposition.families()

    def manifest(self) -> Facts:
        """Declare what is there."""
        return Facts(
            "federation", "urn:ojs:spec:federation", "1.0.0-rc.1", capabilities={"federation": True}
        )
