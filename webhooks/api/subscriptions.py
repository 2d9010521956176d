"""Endpoints below /ojs/v1/webhooks/subscriptions. Spec: contract 26.1."""

from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import (
    BOOLEAN,
    OBJECT,
    PAGINATION,
    QUEUE,
    TIME,
    TYPE,
    array,
    component,
    integer,
    maybe,
    obj,
    optional,
    text,
)
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import QUERY, page
from jobs.domain.outbound.address import MAX_URL
from jobs.domain.wire.bounds import MAX_TENANT
from jobs.domain.wire.times import format_time
from webhooks.api import codec
from webhooks.domain.interest import PATTERN
from webhooks.domain.signature import MAX_SECRET, MIN_SECRET
from webhooks.services import subscriptions
from webhooks.services.deliveries import send_test

FILTER = obj({"queues": array(QUEUE), "job_types": array(TYPE)})
FIELDS = {
    "id": text(1),
    "url": text(1),
    "events": array(text(1)),
    "filter": FILTER,
    "active": BOOLEAN,
    "metadata": OBJECT,
    "timeout_ms": integer(1),
    "tenant_id": maybe(text()),
    "created_at": TIME,
    "updated_at": TIME,
    "last_delivery_at": maybe(TIME),
    "last_delivery_status": maybe(text()),
    "success_count": integer(0),
    "failure_count": integer(0),
    "disabled_reason": maybe(text()),
}
SUBSCRIPTION = component("Subscription", obj(FIELDS, {"secret": text(1)}))
SHOWN = obj({"subscription": SUBSCRIPTION, **FIELDS})
NEW = obj({"subscription": SUBSCRIPTION, **FIELDS, "secret": text(1)})
NAME = text(1, pattern=f"^(?:{PATTERN.pattern})$", description="A name, `name.*` or `*`")
GIVEN = {
    "url": text(1, MAX_URL, format="uri"),
    "events": array(NAME, minItems=1, maxItems=codec.MAX_NAMES),
}
CHOSEN = {
    "filter": obj(
        {},
        optional({"queues": array(QUEUE), "job_types": array(TYPE)}),
        additionalProperties=False,
    ),
    "metadata": OBJECT,
    "active": BOOLEAN,
    "timeout_ms": integer(codec.MIN_TIMEOUT_MS, codec.MAX_TIMEOUT_MS),
}
SECRET = {
    "secret": text(MIN_SECRET, MAX_SECRET),
    "tenant_id": text(1, MAX_TENANT),
}
LIST = obj(
    {
        "subscriptions": array(SUBSCRIPTION),
        "items": array(SUBSCRIPTION),
        "total": integer(0),
        "pagination": PAGINATION,
    }
)
ROTATED = obj(
    {"id": text(1), "secret": text(1), "new_secret": text(1), "previous_valid_until": TIME}
)
TESTED = obj(
    {
        "success": BOOLEAN,
        "status_code": integer(0),
        "status": integer(0),
        "response_time_ms": integer(0),
        "response_body": maybe(text()),
        "error": maybe(text()),
    }
)
ID = {"subscription_id": text(1)}
EXTENSION = "webhooks"


class SubscriptionCollection(OJSView):
    """List and create subscriptions."""

    @operation("listSubscriptions", {200: LIST}, query=QUERY, extension=EXTENSION)
    def get(self, request: Request) -> Answer:
        """List subscriptions, oldest first, without their secrets."""
        window = page(request)
        visible = subscriptions.visible(self.principal.tenant)
        total = visible.count()
        found = visible[window.offset : window.offset + window.limit]
        shown = [codec.encode_subscription(one)["subscription"] for one in found]
        return Answer(
            {
                "subscriptions": shown,
                "items": shown,
                "total": total,
                "pagination": window.answer(total),
            }
        )

    @operation(
        "createSubscription",
        {201: NEW},
        body=obj(GIVEN, optional({**CHOSEN, **SECRET})),
        refusals=(409,),
        headers={201: ("Location",)},
        extension=EXTENSION,
    )
    def post(self, request: Request) -> Answer:
        """Subscribe to events.

        Only this answer shows the secret that signs deliveries. The form of the URL is checked now,
        its addresses are checked at each delivery.
        """
        draft = codec.decode_subscription(self.body(), self.principal.tenant)
        made, secret = subscriptions.create(draft, self.caller)
        return Answer(
            codec.encode_subscription(made, secret=secret),
            status=201,
            headers={"Location": self.path(f"/webhooks/subscriptions/{made.id}")},
        )


class SubscriptionDetail(OJSView):
    """Show, change and remove a subscription."""

    @operation("getSubscription", {200: SHOWN}, refusals=(404,), path=ID, extension=EXTENSION)
    def get(self, request: Request, subscription_id: str) -> Answer:
        """Show a subscription, without its secret."""
        found = subscriptions.show(subscription_id, self.principal.tenant)
        return Answer(codec.encode_subscription(found))

    @operation(
        "patchSubscription",
        {200: SHOWN},
        body=obj({}, optional({**GIVEN, **CHOSEN})),
        refusals=(404,),
        path=ID,
        extension=EXTENSION,
    )
    def patch(self, request: Request, subscription_id: str) -> Answer:
        """Change the given members; `secret` has an operation of its own."""
        return self._change(subscription_id, "patchSubscription?definition")

    @operation(
        "putSubscription",
        {200: SHOWN},
        body=obj({}, optional({**GIVEN, **CHOSEN})),
        refusals=(404,),
        path=ID,
        extension=EXTENSION,
    )
    def put(self, request: Request, subscription_id: str) -> Answer:
        """Change the given members, as PATCH does."""
        return self._change(subscription_id, "putSubscription?definition")

    def _change(self, subscription_id: str, definition: str) -> Answer:
        body = self.body()
        if body.keys() - {"active"}:  # switching on and off needs no permit to configure
            self.require(definition)
        members = codec.decode_change(body)
        changed = subscriptions.change(subscription_id, self.principal.tenant, members, self.caller)
        return Answer(codec.encode_subscription(changed))

    @operation("deleteSubscription", {204: None}, refusals=(404,), path=ID, extension=EXTENSION)
    def delete(self, request: Request, subscription_id: str) -> Answer:
        """Remove a subscription and cancel its unfinished deliveries."""
        subscriptions.delete(subscription_id, self.principal.tenant, self.caller)
        return Answer(None, status=204)


class SubscriptionTest(OJSView):
    """Test a subscription."""

    @operation(
        "testSubscription",
        {200: TESTED},
        body=OBJECT,
        needs_body=False,
        refusals=(404,),
        path=ID,
        extension=EXTENSION,
    )
    def post(self, request: Request, subscription_id: str) -> Answer:
        """Send the event `webhook.test` once, now, and return the answer of the subscriber."""
        self.optional_body()
        found = subscriptions.show(subscription_id, self.principal.tenant)
        return Answer(codec.encode_test(send_test(found)))


class SubscriptionRotation(OJSView):
    """Replace the secret of a subscription."""

    @operation(
        "rotateSecret",
        {200: ROTATED},
        body=OBJECT,
        needs_body=False,
        refusals=(404,),
        path=ID,
        extension=EXTENSION,
    )
    def post(self, request: Request, subscription_id: str) -> Answer:
        """Create a new secret; for a day the previous secret signs deliveries, too."""
        self.optional_body()
        found, secret = subscriptions.rotate(subscription_id, self.principal.tenant)
        shown: dict[str, Any] = {
            "id": found.id,
            "secret": secret,
            "new_secret": secret,
            "previous_valid_until": found.previous_valid_until
            and format_time(found.previous_valid_until),
        }
        return Answer(shown)
