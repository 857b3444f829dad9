"""Secrets of projects: what jobs refer to by name, and what each of them is at the moment a task starts.

    rota secret set ──► sealed ──► store          a job says    secrets: {API_KEY: api-key}
    settings: file, environment ──┐                                   │
                                  └──► Vault.reveal ◄── dispatch, when the task starts

Values are in memory only on their way to a task. Sources that operators name in the settings go before what
was set by members of the project.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from rota.backends.process.keeper.streams.masking import MOST_PATTERNS, patterns_of
from rota.control.errors import BadInput
from rota.control.memory import Memory
from rota.dispatch.secrets import NoSecret
from rota.intake.submissions import Submission
from rota.model.ids import Labels
from rota.trust.sealing import CannotUnseal, Sealer

FILE, ENVIRONMENT = "file:", "env:"
LARGEST_BYTES = 64 << 10
MOST_A_PROJECT = 1000


def key_of(project: str, name: str) -> str:
    """Neither may hold a slash."""
    return f"{project}/{name}"


class Vault:
    def __init__(
        self,
        memory: Memory,
        sealer: Callable[[], Sealer],
        sources: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`sealer` is called when the first secret is sealed or opened: a server without secrets has no key.
        `sources`: by `key_of`, as `file:/path` or `env:NAME`."""
        self._memory = memory
        self._make_sealer = sealer
        self._sealer: Sealer | None = None
        self._sources = sources or {}
        self._environment = os.environ if environment is None else environment

    def has(self, project: str, name: str) -> bool:
        key = key_of(project, name)
        return key in self._sources or key in self._memory.secrets

    def check(self, submission: Submission) -> None:
        """Raises BadInput if a job names a secret that its project doesn't have."""
        for index, entry in enumerate(submission.entries):
            project = entry.spec.template.project
            for variable, name in entry.spec.run.secrets:
                if not self.has(project, name):
                    raise BadInput(
                        f"jobs[{index}].secrets.{variable}",
                        f"the project {project} has no secret {name}",
                        f"make it with `rota secret set {name} --project {project}`, or correct the name",
                    )

    def seal(self, project: str, name: str, value: str) -> bytes:
        return self._opened().seal(value.encode(), key_of(project, name))

    def reveal(self, project: str, wanted: Labels) -> Labels:
        """Variables with the values of the secrets that they stand for. Raises NoSecret."""
        found = tuple((variable, self._value(project, name)) for variable, name in wanted)
        if len(patterns_of(value for _, value in found)) > MOST_PATTERNS:
            raise NoSecret(
                f"its secrets have more than {MOST_PATTERNS} lines, too many to mask in its output; "
                "name fewer secrets, or give long ones as files"
            )
        return found

    def sources_of(self, project: str) -> list[str]:
        """Names of the secrets that operators gave this project."""
        prefix = key_of(project, "")
        return sorted(key.removeprefix(prefix) for key in self._sources if key.startswith(prefix))

    def _value(self, project: str, name: str) -> str:
        key = key_of(project, name)
        source = self._sources.get(key)
        if source is not None:
            return self._from_source(key, source)
        secret = self._memory.secrets.get(key)
        if secret is None:
            raise NoSecret(f"the project {project} has no secret {name}; `rota secret set {name}` makes it")
        try:
            return self._opened().unseal(secret.sealed, key).decode()
        except (CannotUnseal, OSError) as error:
            raise NoSecret(f"the secret {name} can't be read: {error}; set it again") from None

    def _from_source(self, key: str, source: str) -> str:
        try:
            if source.startswith(FILE):
                value = _file_text(Path(source.removeprefix(FILE)))
            else:
                value = self._environment[source.removeprefix(ENVIRONMENT)]
        except (OSError, KeyError, ValueError):
            # Neither the path nor the name of the variable is a user's business.
            raise NoSecret(
                f"the secret {key} isn't where the server's settings say; tell an operator"
            ) from None
        return value

    def _opened(self) -> Sealer:
        if self._sealer is None:
            self._sealer = self._make_sealer()
        return self._sealer


def _file_text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES or b"\0" in content:
        raise ValueError(path)
    return content.decode().removesuffix("\n")
