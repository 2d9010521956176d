"""The rate of the load client against a server that does no work."""

from dataclasses import dataclass

from bench import requests
from bench.load import Client
from bench.mirror import mirror

BODY = b'{"job":{"id":"' + b"0" * 36 + b'","type":"bench.noop"}}'


@dataclass(frozen=True, slots=True)
class Limit:
    """Requests per second, and the client's own CPU time per request."""

    clients: int
    rate: float
    cpu_us: float


def client_limit(client: Client, clients: int, seconds: float) -> Limit:
    """Measure the client against a process that answers at once, on the same cores."""
    with mirror(BODY) as port:
        measured = client.drive(port, requests.enqueue(1, "no-key"), clients, seconds)
    cpu_us = measured.client_cpu_s * client.processes / measured.jobs * 1e6 if measured.jobs else 0
    return Limit(clients, measured.rate, cpu_us)
