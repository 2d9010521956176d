"""Read what is known of federated jobs, of all regions. Spec: contract 23 §5, §6."""

from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import Q

from federation.conf import conf
from federation.models import FederatedJob, FederationKey
from federation.services.capture import replica_of
from federation.services.merge import as_copy
from federation.services.regions import registry
from jobs.services.show import show_many

MOST = 256  # copies of one federation id: one region may have several jobs


class Copies(NamedTuple):
    """A federated job: the copy that counts, and all of them, it first."""

    winner: FederatedJob
    copies: Sequence[FederatedJob]
