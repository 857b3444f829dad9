"""Which cluster is meant."""

import asyncio
from pathlib import Path

import pytest
import yaml

from rota.intake.errors import InputError
from rota.kube.api.config import find_cluster


def kubeconfig(file: Path, server: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    entries = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": server}}],
    }
    file.write_text(yaml.safe_dump(entries))
    return file


@pytest.fixture
def account(tmp_path: Path) -> Path:
    folder = tmp_path / "account"
    folder.mkdir()
    for name, content in {
        "token": "of the pod".replace(" ", "-"),
        "ca.crt": "PEM",
        "namespace": "ns",
    }.items():
        (folder / name).write_text(content)
    return folder


IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def test_what_is_named_goes_first(tmp_path: Path, account: Path) -> None:
    named = kubeconfig(tmp_path / "named", "https://named")
    listed = kubeconfig(tmp_path / "listed", "https://listed")
    kubeconfig(tmp_path / ".kube" / "config", "https://usual")
    home = {"HOME": str(tmp_path)}
    everything = {**home, **IN_CLUSTER, "KUBECONFIG": f"{tmp_path}/none:{listed}"}
    assert find_cluster(str(named), environment=everything).server == "https://named"
    assert find_cluster(environment=everything).server == "https://listed"
    within = find_cluster(environment={**home, **IN_CLUSTER}, service_account=account)
    assert within.server == "https://10.0.0.1:443"
    assert find_cluster(environment=home).server == "https://usual"


def test_within_a_cluster(account: Path) -> None:
    access = find_cluster(environment=IN_CLUSTER, service_account=account)
    assert (access.ca_pem, access.namespace) == ("PEM", "ns")
    assert asyncio.run(access.credentials.current()).token == "of-the-pod"
    six = {**IN_CLUSTER, "KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert find_cluster(environment=six, service_account=account).server == "https://[fd00::1]:443"


def test_a_cluster_that_cant_be_found_is_told_with_what_to_give(tmp_path: Path, account: Path) -> None:
    with pytest.raises(InputError, match="give --kubeconfig, set KUBECONFIG, or run in a cluster"):
        find_cluster(environment={"HOME": str(tmp_path)})
    with pytest.raises(InputError, match="KUBECONFIG: there is no file /none; name one that exists"):
        find_cluster(environment={"KUBECONFIG": "/none"})
    with pytest.raises(InputError, match="KUBERNETES_SERVICE_PORT: says no address"):
        find_cluster(environment={"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, service_account=account)
    (account / "ca.crt").unlink()
    with pytest.raises(InputError, match=r"ca\.crt: can't be read.*; give the pod a service account"):
        find_cluster(environment=IN_CLUSTER, service_account=account)
