"""A Ray cluster that is there already, named by --address, from the command line."""

import os
import subprocess
import sys

import pytest

import fabula
from tests.evaluate.test_shards import files, sets  # noqa: F401  (fixtures)

pytest.importorskip("ray", reason="ray is not installed: pip install 'fabula[ray]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is not on the loopback"),
]


@pytest.fixture(scope="module")
def address():
    """The head of a cluster, on the loopback, with processes of its own."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    head = {
        "num_cpus": 2,
        "object_store_memory": 100 << 20,
        "include_dashboard": False,
        "node_ip_address": "127.0.0.2",  # the loopback too; 127.0.0.1 would be taken for this machine's outer address
    }
    cluster = Cluster(initialize_head=True, connect=False, head_node_args=head)
    yield cluster.address
    cluster.shutdown()


def score(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fabula", "score", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_cluster_that_is_named(files, address, tmp_path):  # noqa: F811
    one, two, preds = files
    ask = [preds, "--refs", one, two, "--repair", "swap", "--metrics", "SODA_d,DVC_CIDEr(tok=none)", "--json"]
    far = score(*ask, tmp_path / "far.json", "--engine", "ray", "--address", address, "--work", tmp_path / "work")
    assert far.returncode == 0, far.stderr
    near = score(*ask, tmp_path / "near.json")
    assert near.returncode == 0
    assert (tmp_path / "far.json").read_bytes() == (tmp_path / "near.json").read_bytes()
    again = score(*ask, tmp_path / "far.json", "--engine", "ray", "--address", address, "--work", tmp_path / "work")
    assert again.returncode == 2 and "holds an earlier run; use --resume" in again.stderr


def test_no_cluster_there(files):  # noqa: F811
    run = score(files[2], "--refs", files[1], "--engine", "ray", "--address", "127.0.0.1:1")
    assert run.returncode == 2 and run.stderr.count("\n") == 1
    assert "Ray cannot be reached at 127.0.0.1:1" in run.stderr and "check --address" in run.stderr


def test_the_address_is_for_ray():
    with pytest.raises(fabula.FabulaError, match="say --engine ray"):
        fabula.score("a.jsonl", "b.jsonl", address="127.0.0.1:1")
