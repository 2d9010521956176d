"""System checks of the console: the broker of its operator tasks, and templates of links."""

from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from console import links
from console.conf import conf

# django-q2 without one of these keys asks for Redis
BROKERS: Final = frozenset(
    {"orm", "redis", "django_redis", "sqs", "iron_mq", "mongo", "broker_class"}
)


@register("ojs")
def check_cluster(**_options: Any) -> list[CheckMessage]:
    """Report a django-q2 without a broker: pages of the console would fail."""
    if BROKERS.isdisjoint(getattr(settings, "Q_CLUSTER", None) or {}):
        return [
            Error(
                "Q_CLUSTER names no broker for the operator tasks of the console",
                hint='set Q_CLUSTER = {"name": "ojs", "orm": "default", "timeout": 60,'
                ' "retry": 180} and run manage.py qcluster',
                id="ojs.E050",
            )
        ]
    return []


@register("ojs")
def check_links(**_options: Any) -> list[CheckMessage]:
    """Report templates of links that make no address."""
    templates = {
        "TRACE_URL": conf().trace_url,
        "LOG_URL": conf().log_url,
        "MANUAL_URL": conf().manual_url,
    }
    return [
        Error(f"OJS_CONSOLE[{name!r}] {wrong}", id="ojs.E051")
        for name, template in templates.items()
        if template and (wrong := links.problem(template))
    ]
