"""The actions of operators on webhooks."""

from typing import Final

from django.http import QueryDict

from console.actions.action import Action, Run
from console.shown import Secret
from jobs.domain.access.caller import Caller
from jobs.services.audit.audit import audited, record
from webhooks.api.codec import decode_subscription
from webhooks.services import subscriptions
from webhooks.services.deliveries import retry, send_test


def _create(form: QueryDict, who: Caller) -> Secret:
    body: dict[str, object] = {
        "url": form.get("url", "").strip(),
        "events": form.get("events", "").split(),
    }
    if tenant := who.tenant or form.get("tenant", "").strip():
        body["tenant_id"] = tenant
    with audited(who, "webhook.created", form.get("url", "").strip()):
        made, secret = subscriptions.create(decode_subscription(body, who.tenant), who)
    return Secret(f"{made.url} is subscribed.", secret)


def _switch(*, active: bool) -> Run:
    def switch(form: QueryDict, who: Caller) -> str:
        found = subscriptions.show(form.get("id", ""), who.tenant)
        with audited(who, "webhook.changed", str(found.id)) as data:
            changed = subscriptions.change(found.id, who.tenant, {"active": active}, who)
            data["active"] = changed.active
        return f"{changed.url} is {'enabled' if changed.active else 'disabled'}."

    return switch


def _delete(form: QueryDict, who: Caller) -> str:
    subscriptions.delete(form.get("id", ""), who.tenant, who)
    return "The subscription is deleted. Its open deliveries are cancelled."


def _rotate(form: QueryDict, who: Caller) -> Secret:
    found, secret = subscriptions.rotate(form.get("id", ""), who.tenant)
    return Secret(f"{found.url} has a new secret.", secret)


def _test(form: QueryDict, who: Caller) -> str:
    found = subscriptions.show(form.get("id", ""), who.tenant)
    record(who, "webhook.tested", str(found.id))  # sending takes long: no transaction around it
    answer = send_test(found)
    result = f"answered {answer.status}" if answer.status else f"sent no response: {answer.error}"
    return f"{found.url} {result} after {answer.took_ms} ms."


def _retry(form: QueryDict, who: Caller) -> str:
    return f"{retry(form.get('id', ''), who.tenant).event_type} is sent again."


ACTIONS: Final = (
    Action("webhook-create", "webhooks.configure", _create),
    Action("webhook-enable", "webhooks.operate", _switch(active=True), "Enable", "primary"),
    Action("webhook-disable", "webhooks.operate", _switch(active=False), "Disable"),
    Action(
        "webhook-delete", "webhooks.delete", _delete, "Delete", "danger",
        "Delete this subscription? Its open deliveries are cancelled.", audit="webhook.deleted",
    ),
    Action(
        "webhook-rotate", "webhooks.operate", _rotate, "New secret",
        ask="Create a new secret? The server also signs with the old secret for a day.",
        audit="webhook.secret_rotated",
    ),
    Action("webhook-test", "webhooks.operate", _test, "Test"),
    Action(
        "webhook-retry", "webhooks.operate", _retry, "Send again", audit="webhook.delivery_retried"
    ),
)  # fmt: skip
