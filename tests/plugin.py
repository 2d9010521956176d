"""The environment of a test run, set before pytest-django reads the settings (`-p tests.plugin`).

The controller starts one embedded cluster for the run, unless DATABASE_URL names a server; each
xdist worker has its own database in it.
"""

import atexit
import gc
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from ojs_project.postgres import Cluster

pytest.register_assert_rewrite("tests.asserts")
# the same examples in every run, without stored examples and without a deadline
settings.register_profile("ojs", derandomize=True, database=None, deadline=None)
settings.load_profile("ojs")

CLUSTER: list[Cluster] = []
FOR_TESTS = {
    "fsync": "off",
    "shared_buffers": "256MB",
    "max_connections": "600",  # five processes, each with up to two servers of sixty connections
    "full_page_writes": "off",
    "idle_in_transaction_session_timeout": "0",
}

# the run starts hundreds of processes: stored bytecode saves each of them the compilation
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

os.environ.setdefault("OJS_SECRET_KEY", "for-tests-" + "x" * 50)
os.environ.setdefault("OJS_AUTH", "off")
os.environ.setdefault("OJS_ALLOW_INSECURE", "true")
os.environ.setdefault("OJS_ALLOW_RESET", "true")
os.environ.setdefault("OJS_TEST_DIRECTIVES", "true")
os.environ.setdefault("OJS_FEDERATION_LOCAL_REGION", "us")  # counts once the region is registered
os.environ.setdefault("OJS_FEDERATION_ALLOW_PRIVATE", "true")  # stub regions are on this machine


def _start_cluster() -> None:
    if "DATABASE_URL" in os.environ:
        return
    folder = Path(tempfile.mkdtemp(prefix="ojs-tests-"))
    folder.chmod(0o711)
    CLUSTER.append(Cluster(folder / "cluster", FOR_TESTS).start())
    os.environ["DATABASE_URL"] = CLUSTER[0].url


# xdist workers inherit the variable
_start_cluster()


@atexit.register  # a usage error ends pytest before it is configured
def pytest_unconfigure() -> None:
    """End and remove the cluster, also after a failed run."""
    while CLUSTER:
        cluster = CLUSTER.pop()
        cluster.stop(immediately=True)
        shutil.rmtree(cluster.folder.parent, ignore_errors=True)


def pytest_collection_finish() -> None:
    """Freeze all collected objects: seven thousand tests are a large heap for each collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
