"""Decode and encode subscriptions and deliveries. Spec: contract 26.1."""

from collections.abc import Callable, Mapping
from typing import Any

from jobs.domain.errors import InvalidRequest, PayloadTooLarge, PermissionDenied, Unprocessable
from jobs.domain.lanes.limits import whole
from jobs.domain.outbound.address import is_local_name, is_private, literal, read_target
from jobs.domain.wire import jsonio
from jobs.domain.wire.bounds import MAX_TENANT
from jobs.domain.wire.names import QUEUE_PATTERN, TYPE_PATTERN
from jobs.domain.wire.times import format_time
from webhooks.conf import conf
from webhooks.domain.interest import is_pattern
from webhooks.domain.signature import MAX_SECRET, MIN_SECRET
from webhooks.domain.verdict import Answer
from webhooks.models import Attempt, Delivery, Subscription
from webhooks.services.subscriptions import Draft

MAX_NAMES = 100
MAX_METADATA_BYTES = 16_384
MIN_TIMEOUT_MS, MAX_TIMEOUT_MS = 5_000, 60_000


def decode_subscription(body: Mapping[str, Any], tenant: str | None) -> Draft:
    """Read a new subscription of a caller that is bound to `tenant`, or to no tenant.

    Raises InvalidRequest; Unprocessable for events and refused addresses; PermissionDenied for
    another tenant.
    """
    for name in ("url", "events"):
        if body.get(name) is None:
            raise InvalidRequest.field(name, "is required")
    members = decode_change(body)
    secret = body.get("secret")
    asked = _tenant(body.get("tenant_id"))
    if tenant is not None and asked not in {None, tenant}:
        raise PermissionDenied(
            "the credentials are bound to another tenant", details={"reason": "tenant_mismatch"}
        )
    return Draft(secret=_secret(secret), tenant=tenant or asked, **members)


def decode_change(body: Mapping[str, Any]) -> dict[str, Any]:
    """Read the members of a change; absent and null members do not change."""
    readers: dict[str, Callable[[Any], Any]] = {
        "url": _url,
        "events": _events,
        "metadata": _metadata,
        "active": _active,
        "timeout_ms": _timeout,
    }
    found = {name: read(body[name]) for name, read in readers.items() if body.get(name) is not None}
    if body.get("filter") is not None:
        found |= _filter(body["filter"])
    return found


def _url(raw: object) -> str:
    if not isinstance(raw, str):
        raise InvalidRequest.field("url", "must be a string", raw)
    try:
        target = read_target(raw, allow_http=conf().allow_http)
    except ValueError as problem:
        raise InvalidRequest.field("url", str(problem), raw) from None
    address = literal(target.host)
    is_inside = is_local_name(target.host) or (address is not None and is_private(address))
    if is_inside and not conf().allow_private:
        raise Unprocessable.field("url", "must not lead into a private network", raw)
    return raw


def _events(raw: object) -> list[str]:
    names = _names("events", raw, is_pattern, "must be event names, `job.*` or `*`")
    if not names:
        raise Unprocessable.field("events", "must name at least one event")
    return names


def _filter(raw: object) -> dict[str, list[str]]:
    if not isinstance(raw, dict):
        raise InvalidRequest.field("filter", "must be an object", raw)
    unknown = next((name for name in raw if name not in {"queues", "job_types"}), None)
    if unknown is not None:
        raise InvalidRequest.field(f"filter.{unknown[:100]}", "is not a filter: queues, job_types")
    is_queue = _matcher(QUEUE_PATTERN.fullmatch)
    is_type = _matcher(TYPE_PATTERN.fullmatch)
    return {
        "queues": _names("filter.queues", _given(raw, "queues"), is_queue, "must be queue names"),
        "job_types": _names(
            "filter.job_types", _given(raw, "job_types"), is_type, "must be job types"
        ),
    }


def _given(raw: Mapping[str, Any], name: str) -> object:
    return [] if raw.get(name) is None else raw[name]


def _matcher(match: Callable[[str], object]) -> Callable[[object], bool]:
    return lambda raw: isinstance(raw, str) and match(raw) is not None


def _names(field: str, raw: object, is_good: Callable[[object], bool], rule: str) -> list[str]:
    if not isinstance(raw, list):
        raise Unprocessable.field(field, "must be an array", raw)
    if len(raw) > MAX_NAMES:
        raise Unprocessable.field(field, f"must have at most {MAX_NAMES} entries", raw)
    wrong = [one for one in raw if not is_good(one)]
    if wrong:
        raise Unprocessable.field(field, rule, wrong[0])
    return list(dict.fromkeys(raw))


def _metadata(raw: object) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise InvalidRequest.field("metadata", "must be an object", raw)
    size = len(jsonio.dumps(raw))
    if size > MAX_METADATA_BYTES:
        raise PayloadTooLarge.of("metadata", MAX_METADATA_BYTES, size)
    return raw


def _active(raw: object) -> bool:
    if not isinstance(raw, bool):
        raise InvalidRequest.field("active", "must be true or false", raw)
    return raw


def _timeout(raw: object) -> int:
    return whole(raw, "timeout_ms", low=MIN_TIMEOUT_MS, high=MAX_TIMEOUT_MS)


def _secret(raw: object) -> str | None:
    if raw is None:
        return None
    if not isinstance(raw, str) or not MIN_SECRET <= len(raw) <= MAX_SECRET:
        rule = f"must be a string of {MIN_SECRET} to {MAX_SECRET} characters"
        raise InvalidRequest.field("secret", rule)  # never repeats the given secret
    return raw


def _tenant(raw: object) -> str | None:
    if raw is None:
        return None
    if not isinstance(raw, str) or not 1 <= len(raw) <= MAX_TENANT:
        raise InvalidRequest.field("tenant_id", "must be a tenant or null", raw)
    return raw


def encode_subscription(subscription: Subscription, **more: object) -> dict[str, Any]:
    """Encode a subscription, wrapped and flat; `more` is included in both."""
    shown: dict[str, Any] = {
        "id": subscription.id,
        "url": subscription.url,
        "events": subscription.events,
        "filter": {"queues": subscription.queues, "job_types": subscription.job_types},
        "active": subscription.active,
        "metadata": subscription.metadata,
        "timeout_ms": subscription.timeout_ms or conf().timeout_ms,
        "tenant_id": subscription.tenant,
        "created_at": format_time(subscription.created_at),
        "updated_at": format_time(subscription.updated_at),
        "last_delivery_at": subscription.last_delivery_at
        and format_time(subscription.last_delivery_at),
        "last_delivery_status": subscription.last_delivery_status,
        "success_count": subscription.success_count,
        "failure_count": subscription.failure_count,
        "disabled_reason": subscription.disabled_reason,
        **more,
    }
    return {"subscription": shown, **shown}


def encode_delivery(delivery: Delivery) -> dict[str, Any]:
    """Encode a delivery, without its body."""
    times = {
        name: at and format_time(at)
        for name, at in (
            ("next_attempt_at", delivery.next_attempt_at),
            ("created_at", delivery.created_at),
            ("delivered_at", delivery.delivered_at),
        )
    }
    return {
        "id": delivery.id,
        "subscription_id": delivery.subscription_id,
        "event_id": delivery.event_id,
        "event_type": delivery.event_type,
        "status": delivery.status,
        "attempts": delivery.attempts,
        "last_status_code": delivery.last_status_code,
        "last_error": delivery.last_error,
        **times,
    }


def encode_attempt(attempt: Attempt) -> dict[str, Any]:
    """Encode an attempt of a delivery."""
    return {
        "number": attempt.number,
        "at": format_time(attempt.at),
        "response_time_ms": attempt.took_ms,
        "status_code": attempt.status_code,
        "error": attempt.error,
        "response_body": attempt.response_body,
    }


def encode_test(answer: Answer) -> dict[str, Any]:
    """Encode the outcome of a test; status 0: no answer."""
    return {
        "success": answer.is_success,
        "status_code": answer.status or 0,
        "status": answer.status or 0,
        "response_time_ms": answer.took_ms,
        "response_body": answer.body,
        "error": answer.error,
    }
