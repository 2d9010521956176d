"""All routes of webhooks, in the order of contract 26.1."""

from django.urls import path

from webhooks.api.deliveries import DeliveryCollection, DeliveryDetail, DeliveryRetry
from webhooks.api.subscriptions import (
    SubscriptionCollection,
    SubscriptionDetail,
    SubscriptionRotation,
    SubscriptionTest,
)

PREFIX = "ojs/v1/webhooks"
ONE = f"{PREFIX}/subscriptions/<str:subscription_id>"

urlpatterns = [
    path(f"{PREFIX}/subscriptions", SubscriptionCollection.as_view(), name="ojs-subscriptions"),
    path(ONE, SubscriptionDetail.as_view(), name="ojs-subscription"),
    path(f"{ONE}/test", SubscriptionTest.as_view(), name="ojs-subscription-test"),
    path(f"{ONE}/rotate-secret", SubscriptionRotation.as_view(), name="ojs-subscription-rotate"),
    path(f"{PREFIX}/deliveries", DeliveryCollection.as_view(), name="ojs-deliveries"),
    path(f"{PREFIX}/deliveries/<str:delivery_id>", DeliveryDetail.as_view(), name="ojs-delivery"),
    path(
        f"{PREFIX}/deliveries/<str:delivery_id>/retry",
        DeliveryRetry.as_view(),
        name="ojs-delivery-retry",
    ),
]
