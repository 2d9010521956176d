"""The gauge of findings: any process answers the same values."""

from collections.abc import Mapping

from prometheus_client.core import GaugeMetricFamily, Metric

from attention.domain.rule import Severity


def of_findings(counts: Mapping[tuple[str, int], int]) -> Metric:
    """Return the open findings that are not muted, by rule and severity."""
    gauge = GaugeMetricFamily(
        "ojs_attention", "Open findings that need attention", labels=["rule", "severity"]
    )
    for (rule, severity), number in sorted(counts.items()):
        gauge.add_metric([rule, Severity(severity).word], number)
    return gauge
