"""What pods may say of themselves, as the policy has it.

Whoever may make pods in a namespace may write any label. So a pod is of the project of its namespace's name,
waits in the queue `default` and shares its node, unless the policy lets its namespace do otherwise.
"""

from __future__ import annotations

from msgspec.structs import replace

from rota.kube.mirror.reasons import NotAllowed, Wish
from rota.limits.applying import Owner, asked_limits
from rota.model.ids import DEFAULT_PROJECT, QueueName
from rota.model.job import JobTemplate
from rota.model.limits import ANYTHING
from rota.model.policy import DEFAULT_QUEUE, Policy, TenantKey

_SOMEBODY = "default"


class PodRules:
    def __init__(self, policy: Policy) -> None:
        self._limits = policy.limits
        self._queues = policy.queue_names
        tenants = [(tenant.path.partition("/"), tenant) for tenant in policy.fair_share.tenants]
        self._namespaces = {project: one.namespaces for (project, _, user), one in tenants if not user}
        self._users = {(project, user) for (project, _, user), _ in tenants if user}
        self._users_are_tenants = any(
            queue.tenant_key is TenantKey.USER
            for scheduler in policy.schedulers
            for queue in scheduler.queues
        )

    def refusal(self, template: JobTemplate) -> NotAllowed | None:
        """What it goes too far with; None: nothing. `template`: of a pod, as it says."""
        namespace, project, user = template.namespace, template.project, template.user
        is_exclusive = template.groups[0].spec.exclusive
        if (project, user, template.queue, is_exclusive) == (namespace, _SOMEBODY, DEFAULT_QUEUE, False):
            return None
        if project != namespace and namespace not in self._namespaces.get(project, ()):
            return NotAllowed(Wish.PROJECT, project, namespace, project)
        if self._users_are_tenants and user != _SOMEBODY and (project, user) not in self._users:
            # Else whoever names a user could take what is due to that user in other projects.
            return NotAllowed(Wish.USER, user, namespace, project)
        if template.queue not in self._queues:
            return NotAllowed(Wish.UNKNOWN_QUEUE, template.queue, namespace, project)
        limits = asked_limits(self._limits, Owner(user, project, template.queue))
        queues = limits.value("queues") or (DEFAULT_QUEUE,)
        if template.queue not in queues and ANYTHING not in queues:
            return NotAllowed(Wish.QUEUE, template.queue, namespace, project)
        if is_exclusive and not limits.value("exclusive"):
            return NotAllowed(Wish.EXCLUSIVE, "true", namespace, project)
        return None


def as_if_silent(template: JobTemplate) -> JobTemplate:
    """Of a pod that runs: what it may not say doesn't count."""
    return replace(
        template,
        project=template.namespace or DEFAULT_PROJECT,
        user=_SOMEBODY,
        queue=QueueName(DEFAULT_QUEUE),
        groups=tuple(
            replace(group, spec=replace(group.spec, exclusive=False)) if group.spec.exclusive else group
            for group in template.groups
        ),
    )
