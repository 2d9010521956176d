"""The bounds of values on the wire: the one table that decoders and OpenAPI schemas read.

The bound of a single feature stands once, in the domain of this feature. The test
`tests/project/test_wire_bounds.py` compares the published document with this table. It also finds
schemas that have a number of their own.
"""

from typing import Final

# Names, in characters
MAX_TYPE: Final = 255  # a job type, without a version behind it. Spec: contract 1.1
MAX_QUEUE: Final = 128  # a queue, without a tenant before it. Spec: contract 1.1
MAX_META_NAME: Final = 128  # a name in `meta`. Spec: contract 31.3
MAX_TAG: Final = 128  # a tag of a job. Spec: contract 1.1
MAX_TENANT: Final = 255  # a tenant. Spec: multi-tenancy 4
MAX_WORKER_ID: Final = 256  # a worker, and its host name. Spec: contract 3.4
MAX_REQUEST_ID: Final = 128  # a request id of a client; a longer one is replaced. Spec: 31.4

# Numbers of items
MAX_TAGS: Final = 64  # tags of a job. Spec: contract 1.1
MAX_BATCH: Final = 10_000  # jobs or outcomes in a batch, by default. Spec: contract 11.1
MAX_QUEUES: Final = 100  # queues of a FETCH or a heartbeat. Spec: contract 3.4
MAX_COUNT: Final = 100  # jobs that a FETCH hands out. Spec: contract 3.4
MAX_HANDLERS: Final = 1_000  # handlers of a worker. Spec: contract 22.3
MAX_OFFSET: Final = 1_000_000  # items or pages to leave out of a list

# Ranges
MAX_INT: Final = 2**31 - 1  # a count that an integer column stores
MAX_WHOLE: Final = 2**53  # a whole number that every JSON parser reads exactly. Spec: contract 1.5
MAX_MS: Final = 10 * 365 * 86_400_000  # ten years: timeouts, leases, retention. Spec: contract 1.1
MAX_INTERVAL_MS: Final = 2**40  # between two attempts, in milliseconds. Spec: contract 5
MIN_LEASE_MS: Final = 1_000  # a lease or a timeout of a queue. Spec: contract 1.1, 3.4
MAX_WAIT_MS: Final = 20_000  # for a job, of a FETCH. Spec: contract 3.4
MAX_RESULT_WAIT_S: Final = 3_600  # for the end of a job; the server waits less. Spec: contract 3.3
