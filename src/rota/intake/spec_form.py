"""A job's spec given back in the form of a job file: what `rota show` prints can be submitted again."""

from typing import Any

from rota.intake.parts.arrays import format_array
from rota.intake.parts.runs import run_form
from rota.intake.parts.templates import template_form
from rota.intake.parts.writing import Plain, duration_text, given, timestamp_text, unless
from rota.model.run import After, Dependency, JobSpec, OnTaskFailure, Retry


def form_of(spec: JobSpec) -> Plain:
    """Reading it gives the spec again, but for what limits made of it; an element of an array comes back as
    the array of its index. What is as it would be anyway is left out, except whose it is."""
    template = spec.template
    at_once = None if template.array_limit is None else template.array_limit.at_once
    own = {
        **run_form(spec.run),
        "retry": _retry(spec.retry),
        "on_task_failure": unless(spec.on_task_failure, OnTaskFailure.FAIL_JOB),
        "depends_on": [_dependency(one) for one in spec.depends_on],
        "hold": spec.held,
        "start_after": timestamp_text(spec.start_after_ms or None),
        "start_before": timestamp_text(spec.start_before_ms),
        "deadline": timestamp_text(spec.deadline_ms),
        "array": None if spec.array_index is None else format_array([spec.array_index], at_once),
    }
    whose = {"name": spec.name, "project": template.project, "user": template.user}
    return {**whose, **template_form(template), **given(own)}


def _retry(retry: Retry) -> Any:
    if retry == Retry(retry.limit):
        return retry.limit or None
    return {
        "limit": retry.limit,
        **given(
            {
                "backoff": duration_text(retry.backoff_ms),
                "max_backoff": duration_text(retry.max_backoff_ms),
                "exit_codes": list(retry.exit_codes),
            }
        ),
    }


def _dependency(dependency: Dependency) -> str | Plain:
    if dependency.after is After.SUCCESS:
        return dependency.job
    return {"job": dependency.job, "after": dependency.after.value}
