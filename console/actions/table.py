"""The table of all actions, by name."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from console.actions.action import Action
from ojs_tasks.installed import has_app

# the app that the actions of a module need; empty: the core
MODULES: Final = {
    "jobs": "",
    "chosen": "",
    "queues": "",
    "workers": "",
    "keys": "",
    "limits": "",
    "saved_views": "",
    "operations": "",
    "schedules": "scheduling",
    "workflows": "workflows",
    "regions": "federation",
    "pools": "scheduling",
    "tenants": "tenancy",
    "versions": "versioning",
    "webhooks": "webhooks",
    "attention": "attention",
    "runbooks": "attention",
    "steps": "durable",
}


def _installed() -> Iterator[Action]:
    for module, app in MODULES.items():
        if not app or has_app(app):
            yield from import_module(f"console.actions.{module}").ACTIONS


ACTIONS: Final[Mapping[str, Action]] = {action.name: action for action in _installed()}
