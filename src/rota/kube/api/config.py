"""Which cluster, and as whom: by a kubeconfig that is named, from within the cluster, or by the usual file.

What is wrong in files or in the environment is an `InputError` that names it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rota.intake.errors import InputError
from rota.kube.api.access import ClusterAccess
from rota.kube.api.credentials import CredentialFiles
from rota.kube.api.kubeconfig import read_kubeconfig

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def find_cluster(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> ClusterAccess:
    """`kubeconfig` goes before KUBECONFIG, that before the pod's own account, that before ~/.kube/config."""
    if kubeconfig:
        return read_kubeconfig([Path(kubeconfig)], context)
    if files := [Path(one) for one in environment.get("KUBECONFIG", "").split(os.pathsep) if one]:
        # As kubectl does: of several, some may be missing.
        there = [file for file in files if file.exists()]
        if not there:
            raise InputError(
                "KUBECONFIG", f"there is no file {files[0]}", "name one that exists, or unset it"
            )
        return read_kubeconfig(there, context)
    if "KUBERNETES_SERVICE_HOST" in environment:
        return _in_cluster(environment, service_account)
    usual = Path(environment.get("HOME", "~")).expanduser() / ".kube" / "config"
    if not usual.exists():
        raise InputError(
            str(usual), "there is no such file", "give --kubeconfig, set KUBECONFIG, or run in a cluster"
        )
    return read_kubeconfig([usual], context)


def _in_cluster(environment: Mapping[str, str], folder: Path) -> ClusterAccess:
    host = environment["KUBERNETES_SERVICE_HOST"]
    port = environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port.isdecimal():
        raise InputError(
            "KUBERNETES_SERVICE_PORT" if host else "KUBERNETES_SERVICE_HOST",
            "says no address of an API server",
            "Kubernetes sets both in each of its pods: leave them alone",
        )
    name = f"[{host}]" if ":" in host else host
    return ClusterAccess(
        server=f"https://{name}:{port}",
        credentials=CredentialFiles(token=folder / "token"),
        ca_pem=_text(folder / "ca.crt"),
        namespace=_text(folder / "namespace").strip() or "default",
    )


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            str(file), f"can't be read: {error}", "give the pod a service account, with its token mounted"
        ) from None
