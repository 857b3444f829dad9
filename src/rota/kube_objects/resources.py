"""What pods ask for and nodes have, added up as Kubernetes does.

The rules are those of k8s.io/component-helpers/resource and of the API server's defaults. Overhead is kept
apart: the model has a place for it.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from rota.kube_objects.errors import FieldError, FieldPath
from rota.kube_objects.objects.metadata import Quantity, ResourceList, ResourceRequirements
from rota.kube_objects.objects.pods import Container, ContainerStatus, Pod, PodSpec, PodStatus
from rota.model.quantities import MAX_AMOUNT, QuantityError, parse_cpu_milli, parse_quantity
from rota.model.resources import Resources

Amounts: TypeAlias = dict[str, int]
"""By resource name: cpu in thousandths, everything else in whole units."""

_NONE = ResourceRequirements()
_POD_LEVEL: FieldPath = ("spec", "resources")


def read_amounts(quantities: ResourceList | None, path: FieldPath) -> Amounts:
    amounts = {}
    for name, quantity in (quantities or {}).items():
        try:
            amounts[name] = _parse(name, quantity)
        except QuantityError as error:
            raise FieldError((*path, name), error.problem, error.remedy) from None
    return amounts


@lru_cache(maxsize=4096)
def _parse(name: str, quantity: Quantity) -> int:
    return parse_cpu_milli(quantity) if name == "cpu" else parse_quantity(quantity)


def as_resources(amounts: Amounts) -> Resources:
    rest = {name: amount for name, amount in amounts.items() if amount}
    return Resources(
        cpu_milli=rest.pop("cpu", 0),
        memory_bytes=rest.pop("memory", 0),
        storage_bytes=rest.pop("ephemeral-storage", 0),
        slots=rest.pop("pods", 0),
        extended=tuple(sorted(rest.items())),
    )


def pod_requests(pod: Pod) -> Amounts:
    """What the pod holds or would hold at its height, whether by its containers' or by its own requests."""
    total = _at_height(pod.spec, _with_limits_as_default)
    if pod.status is not None and (pod.status.container_statuses or pod.status.init_container_statuses):
        total = _while_resizing(pod.spec, pod.status, total)
    pod_level = pod.spec.resources or _NONE
    limits = read_amounts(pod_level.limits, (*_POD_LEVEL, "limits"))
    requests = read_amounts(pod_level.requests, (*_POD_LEVEL, "requests"))
    # Huge pages can't be overcommitted: the pod's limit is its request, whatever the containers ask for.
    defaults = {name: limit for name, limit in limits.items() if name not in total or _is_hugepages(name)}
    total.update(_pod_level(defaults))
    total.update(_pod_level(requests))
    return total


def pod_limits(pod: Pod) -> Amounts:
    total = _at_height(pod.spec, _limits)
    pod_level = pod.spec.resources or _NONE
    total.update(_pod_level(read_amounts(pod_level.limits, (*_POD_LEVEL, "limits"))))
    return total


def _pod_level(amounts: Amounts) -> Amounts:
    """Those that a pod may state for all its containers together."""
    return {
        name: amount for name, amount in amounts.items() if name in ("cpu", "memory") or _is_hugepages(name)
    }


def _is_hugepages(name: str) -> bool:
    return name.startswith("hugepages-")


_AmountsOf: TypeAlias = Callable[[Container, FieldPath], Amounts]


def _with_limits_as_default(container: Container, path: FieldPath) -> Amounts:
    return _limits(container, path) | _requests(container, path)


def _requests(container: Container, path: FieldPath) -> Amounts:
    return read_amounts((container.resources or _NONE).requests, (*path, "resources", "requests"))


def _limits(container: Container, path: FieldPath) -> Amounts:
    return read_amounts((container.resources or _NONE).limits, (*path, "resources", "limits"))


def _at_height(spec: PodSpec, amounts_of: _AmountsOf) -> Amounts:
    """The most that is in use at once: init containers run one by one, beside the sidecars before them."""
    together: Amounts = {}
    for index, container in enumerate(spec.containers or ()):
        _add(together, amounts_of(container, ("spec", "containers", index)))
    sidecars: Amounts = {}
    height: Amounts = {}
    for index, container in enumerate(spec.init_containers or ()):
        amounts = amounts_of(container, ("spec", "initContainers", index))
        if container.is_sidecar:
            _add(together, amounts)
            _add(sidecars, amounts)
            _raise_to(height, sidecars)
        else:
            _add(amounts, sidecars)
            _raise_to(height, amounts)
    _raise_to(together, height)
    for name, amount in together.items():
        if amount > MAX_AMOUNT:
            raise FieldError(("spec", "containers"), f"{name} adds up to an absurd amount", "ask for less")
    return together


def _while_resizing(spec: PodSpec, status: PodStatus, wanted: Amounts) -> Amounts:
    """A pod that is being resized in place holds the largest of what it has, was granted and wants.

    What it wants doesn't count once the kubelet has found that it can't be had.
    """
    is_infeasible = is_resize_infeasible(status)
    statuses = {
        one.name: (one, (*path, index))
        for path, ones in (
            (("status", "containerStatuses"), status.container_statuses),
            (("status", "initContainerStatuses"), status.init_container_statuses),
        )
        for index, one in enumerate(ones or ())
    }

    def granted(container: Container, path: FieldPath) -> Amounts:
        one, at = statuses.get(container.name, (_NO_STATUS, ()))
        if one.allocated_resources is not None:
            return read_amounts(one.allocated_resources, (*at, "allocatedResources"))
        return {} if is_infeasible else _with_limits_as_default(container, path)

    def present(container: Container, path: FieldPath) -> Amounts:
        one, at = statuses.get(container.name, (_NO_STATUS, ()))
        if one.resources is not None and one.resources.requests is not None:
            return read_amounts(one.resources.requests, (*at, "resources", "requests"))
        return granted(container, path)

    total = {} if is_infeasible else wanted
    _raise_to(total, _at_height(spec, granted))
    _raise_to(total, _at_height(spec, present))
    return total


_NO_STATUS = ContainerStatus()


def is_resize_infeasible(status: PodStatus) -> bool:
    return any(
        condition.type == "PodResizePending" and condition.reason == "Infeasible"
        for condition in status.conditions or ()
    )


def _add(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = max(total.get(name, 0), amount)
