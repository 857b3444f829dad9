"""The few pages that there are: plain, without scripts, and with headers that allow none."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from urllib.parse import urlencode

from rota.api.people import Role
from rota.control.access import Who
from rota.server.http.problems import TITLES, ProblemError
from rota.server.http.reply import Reply

HTML = "text/html; charset=utf-8"
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}"
    "label,input{display:block}input{width:100%;box-sizing:border-box;margin:.25rem 0 1rem;padding:.4rem}"
    "button{padding:.4rem 1rem}"
)
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HTML_HEADERS = (
    ("content-security-policy", _POLICY),
    ("x-frame-options", "DENY"),
    # Not no-referrer: browsers would then say of our own forms, too, that they come from nowhere.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
)


def wants_html(accept: str | None) -> bool:
    """Browsers name it. Who takes anything gets what programs get."""
    return any(part.partition(";")[0].strip().lower() == "text/html" for part in (accept or "").split(","))


def page(title: str, body: str, status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> Reply:
    """`body` is markup; all that comes from elsewhere is escaped in it."""
    text = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)} – Rota</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><h1>{escape(title)}</h1>{body}</body></html>"
    )
    return Reply(status, text.encode(), HTML, (*HTML_HEADERS, *headers))


def redirect(where: str, headers: Iterable[tuple[str, str]] = ()) -> Reply:
    """With the method GET."""
    return Reply(303, b"", HTML, (("location", where), *HTML_HEADERS, *headers))


def sign_in_page(
    return_to: str, csrf: str, provider: str | None, headers: Iterable[tuple[str, str]] = ()
) -> Reply:
    """`provider`: its host; None: there is none."""
    ways = []
    if provider is not None:
        # A link, not a form: browsers hold where a form ends up to our policy, and the provider is elsewhere.
        target = escape(f"/sign-in/provider?{urlencode({'return': return_to})}")
        ways.append(f'<p><a href="{target}">Sign in with {escape(provider)}</a></p>')
    ways.append(
        '<form method="post" action="/sign-in/token">'
        f"{_hidden('csrf', csrf)}{_hidden('return', return_to)}"
        '<label for="token">Token</label>'
        '<input id="token" name="token" type="password" autocomplete="off" required>'
        "<button>Sign in with a token</button></form>"
    )
    return page("Sign in", "".join(ways), headers=headers)


def onward_page(where: str, headers: Iterable[tuple[str, str]] = ()) -> Reply:
    """Goes on by itself, from a page of ours. After a redirect, the browser would still take another site for
    the one that asked, and send no cookie of ours."""
    target = escape(where)
    body = f'<meta http-equiv="refresh" content="0;url={target}"><p><a href="{target}">Go on</a></p>'
    return page("One moment", body, headers=headers)


def home_page(who: Who, csrf: str) -> Reply:
    if who.projects is None:
        projects = "all projects"
    else:
        projects = ", ".join(who.projects) or "no project"
    body = (
        f"<p>Signed in as <strong>{escape(who.user)}</strong> with the role "
        f"<strong>{escape(_role(who.role))}</strong>, for {escape(projects)}.</p>"
        f'<form method="post" action="/sign-out">{_hidden("csrf", csrf)}<button>Sign out</button></form>'
    )
    return page("Rota", body)


def problem_page(problem: ProblemError) -> Reply:
    help = f"<p>{escape(problem.help)}</p>" if problem.help else ""
    body = f'<p>{escape(problem.detail)}</p>{help}<p><a href="/sign-in">Sign in</a></p>'
    return page(TITLES[problem.kind], body, int(problem.status), problem.headers)


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{escape(value)}">'


def _role(role: Role) -> str:
    return role.value
