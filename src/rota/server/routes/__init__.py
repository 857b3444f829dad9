"""All routes, a module for each noun."""

from typing import Any

from rota.server.http.route import Route
from rota.server.routes import (
    agents,
    audit,
    bookings,
    events,
    files,
    input,
    jobs,
    limits,
    logs,
    nodes,
    projects,
    questions,
    queues,
    secrets,
    service,
    sign_in,
    tokens,
    usage,
)

ROUTES: tuple[Route[Any, Any], ...] = (
    *jobs.ROUTES,
    *questions.ROUTES,
    *logs.ROUTES,
    *input.ROUTES,
    *files.ROUTES,
    *events.ROUTES,
    *nodes.ROUTES,
    *agents.ROUTES,
    *queues.ROUTES,
    *limits.ROUTES,
    *usage.ROUTES,
    *bookings.ROUTES,
    *projects.ROUTES,
    *secrets.ROUTES,
    *tokens.ROUTES,
    *sign_in.ROUTES,
    *audit.ROUTES,
    *service.ROUTES,
)
