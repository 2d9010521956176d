"""Configure the SDK of OpenTelemetry by its usual variables, in processes that belong to OJS.

A host project's web processes configure their own provider. Nothing happens unless a variable asks
for traces, or if a provider is configured already, for example by `opentelemetry-instrument`.
"""

import os
from collections.abc import Mapping
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured

from ojs_tasks import tracing

EXPORTER: Final = "OTEL_TRACES_EXPORTER"
EXPORTERS: Final = ("otlp", "console", "none")
ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
PROTOCOL: Final = "http/protobuf"
SERVICE: Final = "ojs"  # service.name unless a variable names the service
INSTALL: Final = 'pip install "ojs-django[otel]"'


def configure(environ: Mapping[str, str] = os.environ) -> bool:
    """Configure a provider if variables ask for traces; return whether this call did.

    The SDK itself reads the other variables: of the endpoint, headers, sampler, batches and limits.
    Raises ImproperlyConfigured for a variable that cannot be followed, or without the extra `otel`.
    """
    exporter = wanted_exporter(environ)
    if exporter is None:
        return False
    if not tracing.IS_THERE:
        raise ImproperlyConfigured(f"{_reason(environ)} needs OpenTelemetry: {INSTALL}")
    if tracing.are_made():
        return False
    provider = _provider(exporter, environ)
    tracing.use(provider)
    return True


def wanted_exporter(environ: Mapping[str, str]) -> str | None:
    """Return `otlp` or `console`, None if no traces are wanted. Raises ImproperlyConfigured."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    named = environ.get(EXPORTER, "").strip().lower()
    if named and named not in EXPORTERS:
        raise ImproperlyConfigured(f"{EXPORTER} is {named!r}: use one of {', '.join(EXPORTERS)}")
    exporter = named or ("otlp" if any(environ.get(name) for name in ENDPOINTS) else "none")
    if exporter == "none":
        return None
    if exporter == "otlp":
        _check_protocol(environ)
    return exporter


def _check_protocol(environ: Mapping[str, str]) -> None:
    for name in PROTOCOLS:
        if (found := environ.get(name, PROTOCOL).strip()) not in {"", PROTOCOL}:
            raise ImproperlyConfigured(f"{name} is {found!r}: use {PROTOCOL}")


def _reason(environ: Mapping[str, str]) -> str:
    return next((name for name in (EXPORTER, *ENDPOINTS) if environ.get(name)), EXPORTER)


def _provider(exporter: str, environ: Mapping[str, str]) -> Any:
    try:
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - optional
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

        made = _exporter(exporter)
    except ImportError as problem:
        raise ImproperlyConfigured(f"{_reason(environ)} needs {problem.name}: {INSTALL}") from None
    is_named = "OTEL_SERVICE_NAME" in environ or "service.name=" in environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    resource = Resource.create({} if is_named else {"service.name": SERVICE})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(made))
    return provider


def _exporter(name: str) -> Any:
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter  # noqa: PLC0415

        return ConsoleSpanExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )

    return OTLPSpanExporter()
