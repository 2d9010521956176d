"""The federated client: one logical system from many regions, without Django or a database.

    from federation.client import FederatedClient, FederationConfig, Region

    config = FederationConfig("us", (Region("us", "https://us.example"), …))
    with FederatedClient(config) as client:
        client.enqueue("user.export", ["u1"], queue="gdpr", region="eu")

Spec: federation; contract 23.2.
"""

from federation.client.aio import AsyncFederatedClient
from federation.client.newjob import NewJob
from federation.client.results import (
    BatchResult,
    Enqueued,
    FederationHealth,
    Located,
    Refused,
    RegionRefused,
    UnexpectedAnswer,
)
from federation.client.state import RegionState
from federation.client.sync import FederatedClient
from federation.domain.config import (
    CircuitBreaker,
    Failover,
    FederationConfig,
    HealthCheck,
    InDoubt,
    Replication,
    Topology,
)
from federation.domain.errors import (
    FederationConfigError,
    InvalidFederationMeta,
    NoHealthyRegion,
    RegionRequired,
    RegionUnavailable,
    UnknownRegion,
)
from federation.domain.reading import read_config
from federation.domain.region import Auth, AuthKind, Region
from federation.domain.routing import Candidate, Decision
from jobs.domain.errors import NotFound, OJSError

__all__ = [
    "AsyncFederatedClient",
    "Auth",
    "AuthKind",
    "BatchResult",
    "Candidate",
    "CircuitBreaker",
    "Decision",
    "Enqueued",
    "Failover",
    "FederatedClient",
    "FederationConfig",
    "FederationConfigError",
    "FederationHealth",
    "HealthCheck",
    "InDoubt",
    "InvalidFederationMeta",
    "Located",
    "NewJob",
    "NoHealthyRegion",
    "NotFound",
    "OJSError",
    "Refused",
    "Region",
    "RegionRefused",
    "RegionRequired",
    "RegionState",
    "RegionUnavailable",
    "Replication",
    "Topology",
    "UnexpectedAnswer",
    "UnknownRegion",
    "read_config",
]
