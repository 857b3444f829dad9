"""Who may use which route, written down once more, apart from the code that decides it.

Every route of the server has an entry here. `test_matrix.py` asks each of them as thirteen identities, about
things of their own project and of another one, and compares. A route without an entry fails
`tests/unit/server/test_matrix_is_complete.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from msgspec import Struct, field

from rota.api.people import Role

VIEWER, SUBMITTER, PROJECT_ADMIN, OPERATOR, ADMIN = Role
RANKS = list(Role)
OWN, OTHER = "own", "other"


class Scope(Enum):
    """What a route's answer depends on besides the role, and what whoever may not gets to hear."""

    NOBODY = "the same for all, with or without a token"
    AGENT = "agents alone: 401 for everybody else"
    ROLE = "the role of the token alone"
    LISTED = "200 for all, and only what is theirs is in it"
    ANYWHERE = "the role in any project: else 403"
    HIDDEN = "the role in the project of what is named: else 404, as if it weren't there"
    OTHERS = "the role in the project of the job that is named: else 403, and not a word about the job"
    REFUSED = "the role in the project that is named in the body: else 403"
    OWNER = "one's own, or an admin: else 404"


class Identity(Struct, frozen=True):
    name: str
    token_role: Role | None = None
    """None: no valid token."""
    own_role: Role | None = None
    """What it is in its own project, by its token or as a member."""

    def expected(self, entry: Entry, side: str) -> frozenset[int]:
        """The statuses that are right."""
        if entry.scope is Scope.NOBODY:
            return entry.fine
        if entry.scope is Scope.AGENT or self.token_role is None:
            return frozenset((401,))
        assert entry.needed is not None
        if not _at_least(self.token_role, entry.needed):
            return frozenset((403,))
        is_operator = _at_least(self.token_role, OPERATOR)
        is_in = is_operator or (self.own_role is not None and _at_least(self.own_role, entry.needed))
        match entry.scope:
            case Scope.ANYWHERE:
                return entry.fine if is_in else frozenset((403,))
            case Scope.HIDDEN:
                return entry.fine if is_operator or (is_in and side == OWN) else frozenset((404,))
            case Scope.REFUSED | Scope.OTHERS:
                return entry.fine if is_operator or (is_in and side == OWN) else frozenset((403,))
            case Scope.OWNER:
                is_theirs = side == OWN or self.token_role is ADMIN
                return entry.fine if is_theirs else frozenset((404,))
            case _:
                return entry.fine

    def sees(self, side: str) -> bool:
        """Whether anything of this project may be in an answer to it."""
        if self.token_role is None:
            return False
        return side == OWN or _at_least(self.token_role, OPERATOR)


def _at_least(role: Role, needed: Role) -> bool:
    return RANKS.index(role) >= RANKS.index(needed)


IDENTITIES = (
    Identity("no token"),
    Identity("a wrong token"),
    Identity("an expired token"),
    Identity("viewer by token", VIEWER, VIEWER),
    Identity("submitter by token", SUBMITTER, SUBMITTER),
    Identity("project-admin by token", PROJECT_ADMIN, PROJECT_ADMIN),
    Identity("operator by token", OPERATOR, OPERATOR),
    Identity("admin by token", ADMIN, ADMIN),
    # Their tokens would allow more than what they are as members.
    Identity("viewer by membership", PROJECT_ADMIN, VIEWER),
    Identity("submitter by membership", PROJECT_ADMIN, SUBMITTER),
    Identity("project-admin by membership", PROJECT_ADMIN, PROJECT_ADMIN),
    # In a browser, by a cookie.
    Identity("submitter by session", SUBMITTER, SUBMITTER),
    Identity("operator by session", OPERATOR, OPERATOR),
)

Names = Mapping[str, str]
"""Of what is there in a project, and of the identity that asks."""


class Entry(Struct, frozen=True, kw_only=True):
    route: str
    """As the server has it."""
    needed: Role | None
    scope: Scope
    path: str = ""
    """What is asked for, with names from `Names` in braces; empty: the route as it is."""
    body: Callable[[Names], Any] | None = None
    fine: frozenset[int] = field(default=frozenset((200,)))
    """What whoever may gets."""
    streams: bool = False
    """It goes on: only its first bytes are read."""

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]

    def target(self, names: Names) -> str:
        return (self.path or self.route.partition(" ")[2]).format_map(names)


def _entry(route: str, needed: Role | None, scope: Scope, path: str = "", **more: Any) -> Entry:
    if "fine" in more:
        more["fine"] = frozenset(more["fine"])
    return Entry(route=route, needed=needed, scope=scope, path=path, **more)


def _jobs(names: Names) -> Any:
    return {"jobs": [{"command": ["true"], "project": names["project"]}]}


_PERIOD = {"start": "2040-03-01T06:00:00Z", "for": "2h"}
_DRY = "?dry_run=true"

TABLE = (
    # -- jobs
    _entry("POST /v1/jobs", SUBMITTER, Scope.REFUSED, f"/v1/jobs{_DRY}", body=_jobs),
    _entry("GET /v1/jobs", VIEWER, Scope.LISTED),
    _entry("GET /v1/jobs", VIEWER, Scope.LISTED, "/v1/jobs?project={project}"),
    _entry("GET /v1/jobs/{job}", VIEWER, Scope.OTHERS, "/v1/jobs/{done}"),
    _entry("GET /v1/jobs/{job}", VIEWER, Scope.OTHERS, "/v1/jobs/{waiting}"),
    _entry("GET /v1/jobs", VIEWER, Scope.LISTED, "/v1/jobs?fold=true"),
    _entry("GET /v1/arrays/{array}", VIEWER, Scope.OTHERS, "/v1/arrays/{array}"),
    _entry("POST /v1/jobs/{job}/cancel", SUBMITTER, Scope.OTHERS, f"/v1/jobs/{{waiting}}/cancel{_DRY}"),
    _entry("POST /v1/jobs/{job}/hold", SUBMITTER, Scope.OTHERS, f"/v1/jobs/{{waiting}}/hold{_DRY}"),
    _entry("POST /v1/jobs/{job}/release", SUBMITTER, Scope.OTHERS, f"/v1/jobs/{{held}}/release{_DRY}"),
    _entry(
        "POST /v1/jobs/{job}/extend",
        SUBMITTER,
        Scope.OTHERS,
        f"/v1/jobs/{{running}}/extend{_DRY}",
        body=lambda _: {"time_limit": "+1m"},
    ),
    _entry("GET /v1/jobs/{job}/why", VIEWER, Scope.OTHERS, "/v1/jobs/{waiting}/why"),
    _entry("GET /v1/jobs/{job}/eta", VIEWER, Scope.OTHERS, "/v1/jobs/{waiting}/eta"),
    _entry("GET /v1/jobs/{job}/eff", VIEWER, Scope.OTHERS, "/v1/jobs/{done}/eff"),
    _entry("GET /v1/jobs/{job}/logs", VIEWER, Scope.OTHERS, "/v1/jobs/{done}/logs"),
    _entry(
        "GET /v1/jobs/{job}/logs",
        VIEWER,
        Scope.OTHERS,
        "/v1/jobs/{running}/logs?follow=true&form=chunks",
        streams=True,
    ),
    _entry(
        "POST /v1/jobs/{job}/input",
        SUBMITTER,
        Scope.OTHERS,
        "/v1/jobs/{running}/input",
        body=lambda _: b"42",
        # None of them is its user.
        fine=(403,),
    ),
    _entry("GET /v1/jobs/{job}/outputs", VIEWER, Scope.OTHERS, "/v1/jobs/{done}/outputs"),
    _entry("GET /v1/jobs/{job}/outputs/{path}", VIEWER, Scope.OTHERS, "/v1/jobs/{done}/outputs/deep/out"),
    _entry("POST /v1/plan", SUBMITTER, Scope.REFUSED, body=_jobs),
    _entry("PUT /v1/files/{sha256}", SUBMITTER, Scope.ANYWHERE, body=lambda _: b"42", fine=(200, 201)),
    # -- events
    _entry("GET /v1/events", VIEWER, Scope.LISTED, "/v1/events?last=1000"),
    _entry("GET /v1/events", VIEWER, Scope.LISTED, "/v1/events?project={project}&limit=1000"),
    _entry("GET /v1/events", VIEWER, Scope.LISTED, "/v1/events?subject={done}&limit=1000"),
    _entry("GET /v1/events/stream", VIEWER, Scope.LISTED, "/v1/events/stream?last=1000", streams=True),
    _entry(
        "GET /v1/events/stream",
        VIEWER,
        Scope.LISTED,
        "/v1/events/stream?last=1000&project={project}",
        streams=True,
    ),
    # -- what operators see and set
    _entry("GET /v1/nodes", VIEWER, Scope.ROLE),
    _entry("GET /v1/nodes/{name}", VIEWER, Scope.ROLE, "/v1/nodes/{node}"),
    _entry(
        "PATCH /v1/nodes/{name}",
        OPERATOR,
        Scope.ROLE,
        f"/v1/nodes/{{node}}{_DRY}",
        body=lambda _: {"cordoned": True},
    ),
    _entry("GET /v1/agents", VIEWER, Scope.ROLE),
    _entry("POST /v1/agents/tokens", OPERATOR, Scope.ROLE, f"/v1/agents/tokens{_DRY}", body=lambda _: {}),
    _entry(
        "POST /v1/agents/{name}/revoke", OPERATOR, Scope.ROLE, f"/v1/agents/nobody/revoke{_DRY}", fine=(404,)
    ),
    _entry("GET /v1/queues", VIEWER, Scope.ROLE),
    _entry("GET /v1/plugins", VIEWER, Scope.ROLE),
    _entry("GET /v1/usage", VIEWER, Scope.LISTED),
    _entry("GET /v1/quotas", VIEWER, Scope.LISTED),
    _entry("GET /v1/limits", VIEWER, Scope.ROLE),
    _entry("GET /v1/limits", VIEWER, Scope.HIDDEN, "/v1/limits?project={project}"),
    _entry(
        "PUT /v1/queues/{name}",
        OPERATOR,
        Scope.ROLE,
        f"/v1/queues/default{_DRY}",
        body=lambda _: {"state": "open"},
    ),
    _entry("GET /v1/maintenance", VIEWER, Scope.ROLE),
    _entry(
        "PUT /v1/maintenance/{name}",
        OPERATOR,
        Scope.ROLE,
        f"/v1/maintenance/disks{_DRY}",
        body=lambda _: _PERIOD,
    ),
    _entry("DELETE /v1/maintenance/{name}", OPERATOR, Scope.ROLE, f"/v1/maintenance/no{_DRY}", fine=(404,)),
    _entry("GET /v1/reservations", VIEWER, Scope.ROLE),
    _entry(
        "PUT /v1/reservations/{name}",
        OPERATOR,
        Scope.ROLE,
        f"/v1/reservations/class{_DRY}",
        body=lambda names: {**_PERIOD, "nodes": [names["node"]], "tenants": [names["project"]]},
    ),
    _entry("DELETE /v1/reservations/{name}", OPERATOR, Scope.ROLE, f"/v1/reservations/no{_DRY}", fine=(404,)),
    # -- who may what
    _entry("GET /v1/projects", VIEWER, Scope.LISTED),
    _entry(
        "PUT /v1/projects/{name}",
        PROJECT_ADMIN,
        Scope.HIDDEN,
        f"/v1/projects/{{project}}{_DRY}",
        body=lambda _: {"members": {}},
    ),
    _entry("DELETE /v1/projects/{name}", ADMIN, Scope.ROLE, f"/v1/projects/{{project}}{_DRY}"),
    _entry("GET /v1/projects/{project}/secrets", SUBMITTER, Scope.HIDDEN, "/v1/projects/{project}/secrets"),
    _entry(
        "PUT /v1/projects/{project}/secrets/{secret}",
        PROJECT_ADMIN,
        Scope.HIDDEN,
        f"/v1/projects/{{project}}/secrets/key{_DRY}",
        body=lambda _: {"value": "another"},
    ),
    _entry(
        "DELETE /v1/projects/{project}/secrets/{secret}",
        PROJECT_ADMIN,
        Scope.HIDDEN,
        f"/v1/projects/{{project}}/secrets/key{_DRY}",
    ),
    _entry("GET /v1/tokens", VIEWER, Scope.LISTED),
    _entry(
        "POST /v1/tokens",
        VIEWER,
        Scope.REFUSED,
        f"/v1/tokens{_DRY}",
        body=lambda names: {"role": "viewer", "projects": [names["project"]]},
    ),
    _entry("DELETE /v1/tokens/{id}", VIEWER, Scope.OWNER, f"/v1/tokens/{{token}}{_DRY}"),
    _entry("GET /v1/auth", None, Scope.NOBODY, fine=(404,)),
    _entry("POST /v1/auth/sign-in", None, Scope.NOBODY, body=lambda _: {"id_token": "a.b.c"}, fine=(404,)),
    _entry("POST /v1/auth/sign-out", VIEWER, Scope.ROLE, f"/v1/auth/sign-out{_DRY}"),
    _entry("GET /v1/audit", PROJECT_ADMIN, Scope.LISTED),
    _entry("GET /v1/audit", PROJECT_ADMIN, Scope.LISTED, "/v1/audit?project={project}"),
    _entry("GET /v1/audit/check", OPERATOR, Scope.ROLE),
    # -- the server itself
    _entry("GET /v1/me", VIEWER, Scope.ROLE),
    _entry("GET /v1/stats", VIEWER, Scope.ROLE),
    _entry("GET /metrics", VIEWER, Scope.ROLE),
    _entry("POST /v1/server/reload", ADMIN, Scope.ROLE, f"/v1/server/reload{_DRY}"),
    _entry("GET /", None, Scope.NOBODY),
    _entry("GET /healthz", None, Scope.NOBODY),
    _entry("GET /readyz", None, Scope.NOBODY),
    _entry("GET /openapi.json", None, Scope.NOBODY),
    # -- pages, for browsers; errors would be pages for one that asks for them
    _entry("GET /sign-in", None, Scope.NOBODY),
    _entry("GET /sign-in/provider", None, Scope.NOBODY, fine=(404,)),
    _entry("GET /sign-in/callback", None, Scope.NOBODY, "/sign-in/callback?state=x&code=y", fine=(404,)),
    _entry("POST /sign-in/token", None, Scope.NOBODY, body=lambda _: {"token": "rota_no"}, fine=(401,)),
    # 403: of a session, as the CSRF token isn't its own.
    _entry("POST /sign-out", None, Scope.NOBODY, body=lambda _: {"csrf": "no"}, fine=(401, 403)),
    # -- agents, who prove who they are in their own ways
    _entry(
        "POST /v1/agents/join",
        None,
        Scope.NOBODY,
        body=lambda _: {"token": "no", "name": "n", "request": "r", "proof": "p"},
        fine=(422,),
    ),
    _entry("POST /v1/agents/renew", None, Scope.NOBODY, body=lambda _: {"request": "r"}, fine=(422,)),
    _entry(
        "PUT /v1/results/{job}/{rank}/{fence}",
        None,
        Scope.AGENT,
        "/v1/results/{running}/0/1",
        body=lambda _: {"ended_ms": 1, "reason": "exited"},
    ),
    _entry(
        "PUT /v1/results/{job}/{rank}/{fence}/outputs/{path}",
        None,
        Scope.AGENT,
        "/v1/results/{running}/0/1/outputs/out",
        body=lambda _: b"x",
    ),
    _entry("GET /v1/files/{sha256}", None, Scope.AGENT, "/v1/files/{planted_file}"),
)
