"""Example requests of tenants; see `jobs/api/examples.py`."""

from collections.abc import Mapping
from typing import Final

from jobs.api.examples import Example

ACME: Final = {"tenant_id": "acme"}
EXAMPLES: Final[Mapping[str, Example]] = {
    "listTenants": Example(query={"q": "acme"}),
    "getTenant": Example(path=ACME),
    "putTenant": Example(
        {"name": "Acme Ltd", "fairness_weight": 4, "limits": {"max_concurrency": 100}}, path=ACME
    ),
    "deleteTenant": Example(path=ACME),
    "getTenantStats": Example(path=ACME),
    "listTenantJobs": Example(path=ACME, query={"state": "available"}),
    "putTenantLimits": Example({"max_concurrency": 50, "reason": "floods the relay"}, path=ACME),
    "suspendTenant": Example({"reason": "unpaid"}, path=ACME),
    "resumeTenant": Example({"reason": "paid"}, path=ACME),
    "releaseTenant": Example({"reason": "calm again"}, path=ACME),
}
