"""The permits of subscriptions and deliveries."""

from typing import Final

from jobs.domain.access.permits import Permit, Role, Tenants
from jobs.permits import READ

WRITE: Final = "ojs:webhooks:write"
CHANGE: Final = "ojs_webhooks.change_subscription"
PERMITS: Final = (
    Permit(
        "webhooks.see", Role.VIEWER, ("ojs_webhooks.view_subscription",), Tenants.OWN,
        api={READ: "listSubscriptions getSubscription listDeliveries getDelivery"},
    ),
    Permit(
        "webhooks.operate", Role.OPERATOR, (CHANGE,), Tenants.OWN,
        api={
            WRITE: "patchSubscription putSubscription testSubscription rotateSecret retryDelivery",
        },
        admin="ojs_webhooks.Subscription:switch_on ojs_webhooks.Subscription:switch_off"
        " ojs_webhooks.Delivery:send_again",
    ),
    Permit(
        "webhooks.configure", Role.ADMIN, ("ojs_webhooks.add_subscription", CHANGE), Tenants.OWN,
        api={
            WRITE: "createSubscription patchSubscription?definition putSubscription?definition",
        },
    ),
    Permit(
        "webhooks.delete", Role.ADMIN, ("ojs_webhooks.delete_subscription",), Tenants.OWN,
        api={WRITE: "deleteSubscription"},
    ),
)  # fmt: skip
