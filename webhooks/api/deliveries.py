"""Endpoints below /ojs/v1/webhooks/deliveries. Spec: contract 26.1."""

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.schemas import (
    OBJECT,
    PAGINATION,
    TIME,
    array,
    component,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import QUERY, page
from jobs.domain.errors import InvalidRequest
from webhooks.api import codec
from webhooks.models import Status
from webhooks.services.deliveries import DeliveryFilter, deliveries, delivery, retry

MAX_OFFSET = 10_000
EXTENSION = "webhooks"
STATUS = {"type": "string", "enum": list(Status.values)}
FIELDS = {
    "id": text(1),
    "subscription_id": text(1),
    "event_id": text(1),
    "event_type": text(1),
    "status": STATUS,
    "attempts": integer(0),
    "last_status_code": maybe(integer(0)),
    "last_error": maybe(text()),
    "next_attempt_at": maybe(TIME),
    "created_at": TIME,
    "delivered_at": maybe(TIME),
}
DELIVERY = component("Delivery", obj(FIELDS))
ATTEMPT = obj(
    {
        "number": integer(1),
        "at": TIME,
        "response_time_ms": integer(0),
        "status_code": maybe(integer(0)),
        "error": maybe(text()),
        "response_body": maybe(text()),
    }
)
LIST = obj({"deliveries": array(DELIVERY), "items": array(DELIVERY), "pagination": PAGINATION})
ID = {"delivery_id": text(1)}


class DeliveryCollection(OJSView):
    """The log of deliveries."""

    @may_lag
    @operation(
        "listDeliveries",
        {200: LIST},
        query={"subscription_id": text(), "status": STATUS, "event_type": text(), **QUERY},
        extension=EXTENSION,
    )
    def get(self, request: Request) -> Answer:
        """List deliveries, newest first.

        `pagination.total` counts only the deliveries up to the end of this page, and one more if
        another page follows.
        """
        window = page(request)
        if window.offset > MAX_OFFSET:
            raise InvalidRequest.field("offset", f"reaches {MAX_OFFSET} deliveries back at most")
        query = request.query_params
        status = query.get("status") or None
        if status is not None and status not in Status.values:
            rule = f"must be one of {', '.join(Status.values)}"
            raise InvalidRequest.field("status", rule, status[:100])
        wanted = DeliveryFilter(
            tenant=self.principal.tenant,
            subscription_id=_text(request, "subscription_id"),
            status=status,
            event_type=_text(request, "event_type"),
        )
        found, has_more = deliveries(wanted, limit=window.limit, offset=window.offset)
        shown = [codec.encode_delivery(one) for one in found]
        known = window.offset + len(found) + has_more
        return Answer({"deliveries": shown, "items": shown, "pagination": window.answer(known)})


def _text(request: Request, name: str) -> str | None:
    given = request.query_params.get(name) or None
    if given and "\x00" in given:
        raise InvalidRequest.field(name, "must be text without NUL")
    return given


class DeliveryDetail(OJSView):
    """Show a delivery."""

    @operation(
        "getDelivery",
        {200: obj({"delivery": DELIVERY, **FIELDS, "attempt_log": array(ATTEMPT)})},
        refusals=(404,),
        path=ID,
        extension=EXTENSION,
    )
    def get(self, request: Request, delivery_id: str) -> Answer:
        """Show a delivery and each of its attempts."""
        found, attempts = delivery(delivery_id, self.principal.tenant)
        shown = codec.encode_delivery(found)
        log = [codec.encode_attempt(one) for one in attempts]
        return Answer({"delivery": shown, **shown, "attempt_log": log})


class DeliveryRetry(OJSView):
    """Send a delivery again."""

    @operation(
        "retryDelivery",
        {202: obj({"delivery": DELIVERY, **FIELDS})},
        body=OBJECT,
        needs_body=False,
        refusals=(404, 409),
        path=ID,
        extension=EXTENSION,
    )
    def post(self, request: Request, delivery_id: str) -> Answer:
        """Start a new cycle of attempts; the delivery keeps its id."""
        self.optional_body()
        shown = codec.encode_delivery(retry(delivery_id, self.principal.tenant))
        return Answer({"delivery": shown, **shown}, status=202)
