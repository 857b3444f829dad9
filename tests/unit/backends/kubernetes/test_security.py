from __future__ import annotations

import pytest

from rota.backends.kubernetes.security import hardened
from tests.unit.backends.kubernetes.starts import OPTIONS

pytestmark = pytest.mark.covers("pod-5")


def test_nothing_is_left_of_what_is_not_allowed_whoever_added_it() -> None:
    bad = {
        "hostNetwork": True,
        "hostPID": True,
        "hostIPC": True,
        "serviceAccountName": "admin",
        "automountServiceAccountToken": True,
        "securityContext": {"runAsUser": 0, "sysctls": [{"name": "x", "value": "1"}]},
        "containers": [
            {
                "name": "runner",
                "securityContext": {"privileged": True, "capabilities": {"add": ["SYS_ADMIN"]}},
            }
        ],
    }
    assert hardened({"spec": bad}, OPTIONS)["spec"] == {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "initContainers": [],
        "containers": [
            {
                "name": "runner",
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "privileged": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    }
    assert bad["hostNetwork"] is True, "what was given isn't changed"
