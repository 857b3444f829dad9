"""Jobs that a client submits: read, and only into projects that it may submit to."""

from __future__ import annotations

from rota.api.limits import MOST_JOBS
from rota.api.people import Role
from rota.control.access import Who
from rota.control.origin import about
from rota.intake.submissions import Submission, read_submission
from rota.model.ids import DEFAULT_PROJECT
from rota.server.http.problems import bad_input, forbidden
from rota.server.identity.access import at_least


def read_jobs(body: bytes, who: Who) -> Submission:
    default_project = DEFAULT_PROJECT if who.projects is None or not who.projects else who.projects[0]
    submission = read_submission(body, default_project, who.user)
    if len(submission.entries) > MOST_JOBS:
        raise bad_input(
            "jobs",
            f"{len(submission.entries):,} jobs in one request",
            f"send at most {MOST_JOBS:,}, or an array",
        )
    for index, entry in enumerate(submission.entries):
        template = entry.spec.template
        if not who.sees(template.project):
            about(template.project)
            raise forbidden(
                f"your token is not for the project {template.project}",
                f"submit to one of: {', '.join(who.projects or ())}",
                f"jobs[{index}].project",
            )
        if template.user != who.user and not at_least(who.role, Role.OPERATOR):
            raise forbidden(
                f"your token belongs to {who.user}, not to {template.user}",
                "leave the user out, or use a token of an operator",
                f"jobs[{index}].user",
            )
    return submission
