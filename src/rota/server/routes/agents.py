"""Agents: invited, joined, renewed, listed, revoked.

Joining and renewing need no token of a user: the one is proven with an invitation's secret, the other with
the agent's own key.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, field, json

from rota.api.cluster import AgentDocument, InvitationDocument
from rota.api.documents import ChangeDocument, Page
from rota.api.people import Role
from rota.control.enrolment import Enrolment
from rota.model.quantities import parse_price_micro
from rota.server.documents import agent_document, invitation_document, unproven_agent
from rota.server.http.desks import Invitations
from rota.server.http.reading import read_body, read_name, read_quantity, read_step
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, ChangeQuery, Form, Query, Route
from rota.server.routes.nodes import read_taints
from rota.store.writing.batch import AgentNode
from rota.trust.enrol import JOIN_PATH, RENEW_PATH, Admission

TAG = "agents"
_MOST_LABELS = 100
Pem = Annotated[str, Meta(max_length=10_000)]


class InvitationForm(Form, frozen=True, kw_only=True):
    name: Annotated[str, Meta(max_length=63, description="Of the agent; left out: its host's.")] | None = None
    pool: Annotated[str, Meta(max_length=253, description="Left out: as the agent says.")] | None = None
    labels: Annotated[dict[str, str], Meta(max_length=_MOST_LABELS)] = field(default_factory=dict)
    taints: Annotated[
        list[str], Meta(max_length=_MOST_LABELS, description="As in dedicated=ml:NoSchedule.")
    ] = field(default_factory=list)
    price_per_hour: Annotated[str | float, Meta(description="Of the whole node.")] | None = None


class JoinForm(Form, frozen=True, kw_only=True):
    token: Annotated[str, Meta(max_length=100, description="The invitation's id.")]
    name: Annotated[str, Meta(max_length=100)]
    request: Annotated[Pem, Meta(description="PKCS #10, PEM, with a key of the curve P-256.")]
    proof: Annotated[str, Meta(max_length=100, description="HMAC-SHA256 of name and request.")]


class RenewForm(Form, frozen=True, kw_only=True):
    request: Pem


_renewals = json.Decoder(RenewForm)
_RENEWAL_SCHEMA: dict[str, object] = {
    "type": "object",
    "required": ["request"],
    "additionalProperties": False,
    "properties": {
        "request": {
            "type": "string",
            "maxLength": 10_000,
            "description": "PKCS #10, PEM, with a new key of the curve P-256.",
        }
    },
}


async def list_agents(call: Call[Query, None], agents: Enrolment) -> Reply:
    """Those that have joined, and those of the server's own user on its machine, which need not."""
    known = [agent_document(agent, seen, call.now_ms) for agent, seen in await agents.agents()]
    unproven = [unproven_agent(name, seen) for name, seen in (await agents.unproven()).items()]
    return json_reply(Page[AgentDocument](items=sorted([*known, *unproven], key=lambda one: one.name)))


async def invite_agent(call: Call[ChangeQuery, InvitationForm], invitations: Invitations) -> Reply:
    """The answer holds the token, this once: for one agent, within 15 minutes. Repeated with its key, the
    request gets none again."""
    dry_run = call.query.dry_run
    invitation, text = await invitations.invite(
        call.body.name or "",
        _node(call),
        call.who,
        dry_run,
        call.answer_of(lambda made: json_reply(invitation_document(made), 201)),
    )
    shown = invitation_document(invitation, None if dry_run else text)
    return json_reply(shown, 200 if dry_run else 201)


def _node(call: Call[ChangeQuery, InvitationForm]) -> AgentNode:
    form = call.body
    for name, value in form.labels.items():
        read_name(name, "labels")
        if value:
            read_name(value, f"labels.{name}")
    price = form.price_per_hour
    return AgentNode(
        "" if form.pool is None else read_name(form.pool, "pool"),
        tuple(sorted(form.labels.items())),
        read_taints(form.taints, call.now_ms),
        0 if price is None else read_quantity("price_per_hour", parse_price_micro, price),
    )


async def join_agent(call: Call[Query, JoinForm], invitations: Invitations) -> Reply:
    """Gives an agent its certificate. Asked twice with the same key, it gets the same."""
    form = call.body
    admission = await invitations.join(form.token, form.name, form.request, form.proof)
    return json_reply(admission, 201)


async def renew_agent(call: Call[Query, bytes], invitations: Invitations) -> Reply:
    """Gives an agent a certificate for its next key. The call is signed with the key it has."""
    form = read_body(call.body or b"{}", _renewals)
    header = call.headers.get("authorization")
    return json_reply(await invitations.renew(header, call.body, form.request), 201)


async def revoke_agent(call: Call[ChangeQuery, None], invitations: Invitations) -> Reply:
    """Its certificate counts no more, and it is cut off. It may join again with another token."""
    name = read_step(call.names["name"])
    await invitations.revoke(name, call.who, call.query.dry_run)
    return json_reply(ChangeDocument(dry_run=call.query.dry_run, changed=[name]))


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/agents",
        call=list_agents,
        summary="List agents",
        tag=TAG,
        role=Role.VIEWER,
        query=Query,
        body=type(None),
        answers={200: Page[AgentDocument]},
    ),
    Route(
        method="POST",
        path="/v1/agents/tokens",
        call=invite_agent,
        summary="Invite an agent",
        tag=TAG,
        role=Role.OPERATOR,
        query=ChangeQuery,
        body=InvitationForm,
        answers={201: InvitationDocument, 200: InvitationDocument},
        examples={"of a pool": {"pool": "gpu", "labels": {"zone": "a"}, "taints": ["gpu=yes:NoSchedule"]}},
    ),
    Route(
        method="POST",
        path=JOIN_PATH,
        call=join_agent,
        summary="Join as an agent",
        tag=TAG,
        role=None,
        query=Query,
        body=JoinForm,
        answers={201: Admission},
    ),
    Route(
        method="POST",
        path=RENEW_PATH,
        call=renew_agent,
        summary="Renew an agent's certificate",
        tag=TAG,
        role=None,
        query=Query,
        body=bytes,
        documented_body=_RENEWAL_SCHEMA,
        answers={201: Admission},
    ),
    Route(
        method="POST",
        path="/v1/agents/{name}/revoke",
        call=revoke_agent,
        summary="Revoke an agent",
        tag=TAG,
        role=Role.OPERATOR,
        query=ChangeQuery,
        body=type(None),
        answers={200: ChangeDocument},
    ),
)
