"""The variables of OpenTelemetry that configure traces."""

import subprocess
import sys
from collections.abc import Mapping

import pytest
from django.core.exceptions import ImproperlyConfigured

from ojs_tasks.telemetry import configure, wanted_exporter
from tests.conftest import ROOT

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


@pytest.mark.parametrize(
    ("environ", "exporter"),
    [
        ({}, None),
        ({"OTEL_SERVICE_NAME": "shop"}, None),
        (ENDPOINT, "otlp"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, "otlp"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "console"),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, None),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "TRUE"}, None),
        ({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "otlp"),
    ],
)
def test_the_variables_choose_the_exporter(
    environ: Mapping[str, str], exporter: str | None
) -> None:
    assert wanted_exporter(environ) == exporter


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER"),
        ({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL"),
        (
            {**ENDPOINT, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"},
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        ),
    ],
)
def test_a_variable_that_cannot_be_followed_is_named(
    environ: Mapping[str, str], named: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=named):
        wanted_exporter(environ)


def test_nothing_is_configured_without_a_variable() -> None:
    assert configure({}) is False


@pytest.mark.parametrize(
    "missing", ["opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter"]
)
def test_without_the_extra_the_error_names_it(missing: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from ojs_tasks.telemetry import configure\n"
        f"configure({ENDPOINT!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert 'pip install "ojs-django[otel]"' in done.stderr.splitlines()[-1]


def test_a_provider_of_the_process_stays() -> None:
    code = (
        "from opentelemetry import trace; from opentelemetry.sdk.trace import TracerProvider\n"
        "own = TracerProvider(); trace.set_tracer_provider(own)\n"
        "from ojs_tasks.telemetry import configure\n"
        f"print(configure({ENDPOINT!r}), trace.get_tracer_provider() is own)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "False True\n"


@pytest.mark.parametrize(
    ("variables", "service"),
    [
        ({}, "ojs"),
        ({"OTEL_SERVICE_NAME": "shop"}, "shop"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=mail,host.name=a"}, "mail"),
    ],
)
def test_the_service_has_a_name(variables: dict[str, str], service: str) -> None:
    code = (
        "import os; from opentelemetry import trace; from ojs_tasks.telemetry import configure\n"
        "assert configure(os.environ)\n"
        "print(trace.get_tracer_provider().resource.attributes['service.name'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True,
        env={"OTEL_TRACES_EXPORTER": "console", **variables},
    )  # fmt: skip

    assert done.stdout == f"{service}\n"
