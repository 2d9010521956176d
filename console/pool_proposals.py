"""Pools and the configuration outside of them as changes to simulate."""

from typing import Any

import orjson

from console.pool_forms import ConfigurationForm, PoolForm
from console.proposals import Proposal, propose
from jobs.domain.access.caller import Caller
from jobs.services.audit.config_log import Subject
from scheduling.domain.pool_request import parse_pool
from scheduling.services import configuration, pools
from scheduling.services.documents import DEFAULTS, POOL, SCHEDULING, of_defaults, of_pool


def of_pool_form(form: PoolForm) -> Proposal:
    """Return the change of a valid form. Raises OJSError as storing it."""
    pools.check(form.pool)
    after = of_pool(form.pool)
    return propose(
        Subject(POOL, form.pool.name),
        after,
        changes=_text({"pools": {form.pool.name: after}}),
        fields=form.shown,
    )


def of_configuration_form(form: ConfigurationForm) -> Proposal:
    """Return the change of a valid form. Raises Unprocessable without a difference."""
    wanted = form.wanted
    return propose(
        Subject(SCHEDULING, DEFAULTS),
        of_defaults(wanted.strategy, wanted.scope, wanted.tenants),
        changes=_text({"scheduling": configuration.in_force(wanted)}),
        fields=form.shown,
    )


def store_pool(name: str, document: dict[str, Any], who: Caller) -> None:
    """Store a pool as its form does. Raises OJSError."""
    pools.put(parse_pool(name, document), who)


def store_configuration(name: str, document: dict[str, Any], who: Caller) -> None:
    """Store the configuration as its form does."""
    configuration.restore(name, None, document, who)


def _text(changes: dict[str, Any]) -> str:
    return orjson.dumps(changes, option=orjson.OPT_INDENT_2).decode()
