"""Who asks, and what they may see."""

from __future__ import annotations

from msgspec import Struct

from rota.api.people import Role

SYSTEM = "rota"
"""Who did what nobody asked for."""


class Who(Struct, frozen=True):
    user: str
    role: Role
    projects: tuple[str, ...] | None = None
    """None: all of them."""

    @property
    def is_operator(self) -> bool:
        """Whom no default limit holds."""
        return self.role in (Role.OPERATOR, Role.ADMIN)

    def sees(self, project: str) -> bool:
        return self.projects is None or project in self.projects
