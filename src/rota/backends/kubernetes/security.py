"""What containers may not do. Applied last, to all of a pod's containers, whoever added them."""

from __future__ import annotations

from typing import Any

from rota.backends.kubernetes.options import PodOptions

SUPPORT_CONTAINERS = ("setup", "log-collector")
_OF_SERVICES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID")
"""Images of databases and the like begin as root of their container, and step down."""


def hardened(pod: dict[str, Any], options: PodOptions) -> dict[str, Any]:
    """A copy in which nothing is left of what the administrator doesn't allow."""
    spec = dict(pod["spec"])
    for forbidden in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "serviceAccountName"):
        spec.pop(forbidden, None)
    spec["automountServiceAccountToken"] = False
    spec["enableServiceLinks"] = False
    spec["securityContext"] = {"seccompProfile": {"type": "RuntimeDefault"}, **_user(options)}
    for group in ("initContainers", "containers"):
        spec[group] = [
            {
                **container,
                "securityContext": _context(container["name"], options, is_service=group == "initContainers"),
            }
            for container in spec.get(group, ())
        ]
    return {**pod, "spec": spec}


def _context(name: str, options: PodOptions, *, is_service: bool) -> dict[str, Any]:
    context: dict[str, Any] = {
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "capabilities": {"drop": ["ALL"]},
    }
    if name in SUPPORT_CONTAINERS:
        context["readOnlyRootFilesystem"] = True
        if options.run_as_user is None:
            # Whoever the image runs as, its files are brought in, and kept when it has ended.
            context["runAsUser"] = 0
            context["capabilities"] = {"drop": ["ALL"], "add": ["DAC_OVERRIDE"]}
    elif name == "runner":
        if options.capabilities:
            context["capabilities"] = {"drop": ["ALL"], "add": sorted(options.capabilities)}
    elif is_service and options.run_as_user is None:
        context["capabilities"] = {"drop": ["ALL"], "add": list(_OF_SERVICES)}
    return context


def _user(options: PodOptions) -> dict[str, Any]:
    if options.run_as_user is None:
        return {}
    user = options.run_as_user
    return {"runAsUser": user, "runAsGroup": user, "fsGroup": user, "runAsNonRoot": user != 0}
