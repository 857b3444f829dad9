"""Messages for failures on the side of the client."""

from __future__ import annotations

import os

from rota.api.jobs import JobDocument
from rota.lifecycle.state import Phase
from rota.sdk.errors import JobFailed, Silence, TooLarge, Unreachable, Untrusted, WaitTimeout

_ENDED = {
    Phase.FAILED: "failed",
    Phase.CANCELLED: "was cancelled",
    Phase.TIMED_OUT: "ran into its time limit",
    Phase.SUCCEEDED: "ended without a result",
}


def unreachable(url: str, reason: str) -> Unreachable:
    return Unreachable(
        f"no server answers at {url}: {reason}", help="is `rota server` running, and is the address right?"
    )


def reason_of(error: BaseException | None) -> str | None:
    """Of an error of the system; asyncio says of most only that a call failed."""
    if not isinstance(error, OSError) or error.errno is None:
        return None
    return (os.strerror(error.errno) if error.errno > 0 else str(error.strerror)).lower()


def silence(url: str, silence_s: float) -> Silence:
    return Silence(f"nothing came from {url} for {silence_s:.0f} s", help="is the server overloaded?")


def untrusted(url: str, reason: str) -> Untrusted:
    return Untrusted(
        f"the certificate of {url} isn't trusted: {reason}",
        help="pass the file of the server's certificate as ca=… or ROTA_CA",
    )


def too_large(what: str, size_bytes: int, error: TooLarge) -> TooLarge:
    return TooLarge(
        f"{what}: {size_bytes:,} bytes are more than the server takes as one file",
        help="pass the path of a file that nodes can read, or have the setting server.limits.upload raised",
        kind=error.kind,
        status=error.status,
    )


def not_over(job: str, timeout_s: float) -> WaitTimeout:
    return WaitTimeout(f"job {job} wasn't over after {timeout_s:g} s", help="it is still running; wait again")


def ended_badly(job: JobDocument, last_words: str = "") -> JobFailed:
    status = f" with status {job.exit_code}" if job.exit_code else ""
    why = f": {job.message}" if job.message else ""
    message = f"job {job.id} {_ENDED.get(job.phase, job.phase.value)}{status}{why}"
    if last_words:
        message += f"\nThe end of what it wrote:\n{last_words}"
    return JobFailed(job, message, help=f"`rota show {job.id}` and `rota logs {job.id}` say more")
