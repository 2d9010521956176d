"""The state of replication, as metrics. Spec: contract 23.8."""

from collections.abc import Iterable

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from federation.services.replication import lag
from federation.services.replication.replication import replication_config


def families() -> Iterable[Metric]:
    """Return the metrics; empty if replication is off."""
    if replication_config() is None:
        return ()
    late = GaugeMetricFamily(
        "ojs_federation_replication_lag_seconds",
        "Age of the oldest change that a region does not have yet",
        labels=["peer"],
    )
    for region, ms in lag.lags_ms().items():
        late.add_metric([region], (ms or 0) / 1000)
    contested = CounterMetricFamily(
        "ojs_federation_conflicts", "Federated jobs that were found in several regions"
    )
    contested.add_metric([], lag.conflicts())
    return (late, contested)
