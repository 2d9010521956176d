"""An object of each kind of configuration, in two versions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from attention.domain.runbook import About, Place, parse_procedure
from attention.services import notes, procedures, thresholds
from attention.services.thresholds import Wanted
from federation.domain.region import Region
from federation.services.registry import configure
from jobs.domain.access.caller import Caller
from jobs.domain.lanes.limits import parse_policy
from jobs.models import ReplayRule
from jobs.services.audit.documents import TEMPLATE as TEMPLATE_NAME
from jobs.services.lanes import limits, queue_config
from jobs.services.outcome import replay
from scheduling.domain.definition import Definition as Schedule
from scheduling.domain.pool_request import parse_pool
from scheduling.services import configuration, cron_register, pools
from scheduling.services.configuration import Wanted as Defaults
from tenancy.domain.tenant_request import parse_tenant
from tenancy.services import tenants
from tests.federation.wire import federate
from versioning.domain.canary_request import parse_wanted
from versioning.domain.schema import Mode
from versioning.services import routing, schemas
from versioning.services.schemas import Registration
from webhooks.services import subscriptions
from webhooks.services.subscriptions import Draft

TEMPLATE = {"type": "report", "args": [], "meta": {}, "options": {}}
ARGS = {"type": "array", "items": {"type": "string"}}


@dataclass(frozen=True, slots=True)
class Case:
    """Two changes of an object by its service, and its name; `make` prepares the rest."""

    name: str
    first: Callable[[Caller], object]
    second: Callable[[Caller], object]
    make: Callable[[], object] = lambda: None
    can_vanish: bool = True  # before the first change there was no object, or only the defaults


def _replay(delay_ms: int, who: Caller) -> None:
    rule = ReplayRule(name="again", position=0, queue="mail", delay_ms=delay_ms, max_replays=1)
    replay.replace_rules([rule], who)


def _schedule(expression: str, who: Caller) -> None:
    definition = Schedule("nightly", expression, template=TEMPLATE)
    cron_register.register(definition, who, lambda queue, kind: None)


def _schema(description: str, who: Caller) -> None:
    document = {**ARGS, "description": description}
    schemas.register(Registration("mail.send", "1.0", document, Mode.WARN, replaces=True), who)


def _rules(share: int, who: Caller) -> None:
    rules = [{"version": "2.0", "weight": share}, {"version": "1.0", "weight": 100 - share}]
    guard = {"error_rate_threshold": 0.05, "evaluation_window": "PT2M"}
    routing.put(parse_wanted("mail.send", {"rules": rules, "auto_rollback": guard}), who)


def _region(weight: int, who: Caller) -> None:
    configure.put_region(Region("eu", "https://192.0.2.7", weight=weight), who)


def _override(rate: int, who: Caller) -> None:
    limits.override("api", parse_policy({"limit": rate, "period": "PT1M"}), None, who)


HOOK = "sub_of_a_test"


def _hook(url: str, who: Caller) -> None:
    (found,) = subscriptions.visible(None)
    subscriptions.change(found.id, None, {"url": url}, who)


def _made_hook() -> None:
    subscriptions.create(Draft("https://hooks.example.org/a", ["*"]), Caller("test"))


def _queue(size: int, who: Caller) -> None:
    queue_config.change("mail", {"concurrency": size}, who)


def _template(size: int, who: Caller) -> None:
    queue_config.change(TEMPLATE_NAME, {"concurrency": size}, who)


def _pool(size: int, who: Caller) -> None:
    fairness = {"weights": {"acme": 3}}
    body = {"queues": ["mail", "sms"], "concurrency": size, "tenant_fairness": fairness}
    pools.put(parse_pool("fast", body), who)


def _tenant(most: int, who: Caller) -> None:
    limits_ = {"max_concurrency": most, "max_enqueue_rate": {"limit": 5, "period": "PT1S"}}
    tenants.put("acme", parse_tenant("acme", {"limits": limits_}), who)


def _rule(seconds: int, who: Caller) -> None:
    overrides: Mapping[str, Any] = {"mail": {"slo_s": seconds}}
    wanted = Wanted(is_enabled=True, values={"slo_s": 60}, overrides=overrides)
    thresholds.change("queue_late", wanted, who)


def _defaults(strategy: str, who: Caller) -> None:
    configuration.configure(
        replace(
            Defaults(), strategy=parse_pool("x", {"queues": ["a"], "strategy": strategy}).strategy
        ),
        who,
    )


def _note(text: str, who: Caller) -> None:
    notes.write(Place(About.QUEUE, "mail"), text, who)


def _procedure(rate: int, who: Caller) -> None:
    body = {
        "about": "queue", "subject": "mail", "action": "retry", "rate": rate,
        "filter": {"queue": "{subject}", "state": "discarded"},
    }  # fmt: skip
    procedures.put(parse_procedure("retry-mail", body), who)


def _both(change: Callable[[Any, Caller], None], first: Any, second: Any) -> dict[str, Any]:
    return {
        "first": lambda who: change(first, who),
        "second": lambda who: change(second, who),
    }


CASES: Mapping[str, Case] = {
    "queue": Case("mail", **_both(_queue, 5, 9), can_vanish=False),
    "queue_template": Case(TEMPLATE_NAME, **_both(_template, 5, 9)),
    "rate_limit_override": Case("api", **_both(_override, 5, 9)),
    "replay_rules": Case("dead-letter", **_both(_replay, 60_000, 120_000)),
    "pool": Case("fast", **_both(_pool, 5, 9)),
    "scheduling": Case("scheduling", **_both(_defaults, "weighted", "strict")),
    "schedule": Case("nightly", **_both(_schedule, "0 1 * * *", "0 2 * * *")),
    "tenant": Case("acme", **_both(_tenant, 5, 9)),
    "routing": Case("mail.send", **_both(_rules, 10, 20)),
    "schema": Case("mail.send@1.0", **_both(_schema, "first", "second")),
    "finding_rule": Case("queue_late", **_both(_rule, 5, 9)),
    "note": Case("queue:mail", **_both(_note, "Call ada.\nThen retry.\n", "Call bob.\nRetry.\n")),
    "procedure": Case("retry-mail", **_both(_procedure, 100, 200)),
    "webhook": Case(
        HOOK,
        **_both(_hook, "https://hooks.example.org/b", "https://hooks.example.org/c"),
        make=_made_hook,
    ),
    "region": Case("eu", **_both(_region, 5, 9), make=federate),
    "federation": Case(
        "federation",
        **_both(
            lambda seconds, who: configure.put_configuration(
                {"health_check": {"interval_seconds": seconds}}, who
            ),
            20,
            30,
        ),
        make=federate,
    ),
}
