"""Example requests of webhooks; see `jobs/api/examples.py`."""

from collections.abc import Mapping
from typing import Final

from jobs.api.examples import Example

SUBSCRIPTION: Final = {"subscription_id": "sub_01a21650-0000-7000-8000-0000000000a1"}
DELIVERY: Final = {"delivery_id": "del_01a21650-0000-7000-8000-0000000000a2"}
EXAMPLES: Final[Mapping[str, Example]] = {
    "createSubscription": Example(
        {"url": "https://example.org/hooks", "events": ["job.completed", "job.failed"]}
    ),
    "getSubscription": Example(path=SUBSCRIPTION),
    "putSubscription": Example({"active": False}, path=SUBSCRIPTION),
    "patchSubscription": Example({"events": ["job.*"]}, path=SUBSCRIPTION),
    "deleteSubscription": Example(path=SUBSCRIPTION),
    "rotateSecret": Example({}, path=SUBSCRIPTION),
    "testSubscription": Example({}, path=SUBSCRIPTION),
    "listDeliveries": Example(query={"status": "dead"}),
    "getDelivery": Example(path=DELIVERY),
    "retryDelivery": Example({}, path=DELIVERY),
}
