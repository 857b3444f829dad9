"""What is wrong with a setting, where it was given, and what to do."""

from __future__ import annotations


class SettingsError(Exception):
    def __init__(self, where: str, key: str, problem: str, remedy: str) -> None:
        super().__init__(where, key, problem, remedy)
        self.where = where
        """A file with its line, a variable of the environment, or the command line."""
        self.key = key
        """As in "server.port"; empty: the file as a whole."""
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        what = f"{self.problem}; {self.remedy}" if self.remedy else self.problem
        return ": ".join(part for part in (self.where, self.key, what) if part)
