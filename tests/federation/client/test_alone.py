"""The client library runs without the server. Spec: contract 23.1, FED-4.1-a."""

import subprocess
import sys

from tests.conftest import ROOT
from tests.spec import spec

PROGRAM = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"django", "rest_framework", "psycopg"}:
            raise ImportError(f"{name} was imported")

sys.meta_path.insert(0, Refuse())
from federation.client import AsyncFederatedClient, FederatedClient, FederationConfig, Region
config = FederationConfig("us", (Region("us", "https://us.example"), Region("eu", "https://eu.example")))
client = FederatedClient(config)
client.close()
print([(one.id, one.weight, one.tags) for one in config.regions])
"""


@spec("FED-4.1-a")
def test_a_static_registry_needs_neither_django_nor_a_database() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        check=False, cwd=ROOT, env={"PATH": ""}, capture_output=True, text=True,
    )  # fmt: skip

    assert done.stderr == ""
    assert done.stdout == "[('us', 1, ()), ('eu', 1, ())]\n"
