"""Errors of the package. All of them are of the class CaromError.

Errors of the program are of the class CommandError and carry its exit code and its message:

    3  ModelError           the model is invalid; the places are in ``problems``
    4  NotConverged         a step did not converge
    5  FileAccessError      a file cannot be read or written
    6  ExpectationMissed    the results differ from the model's ``expect``
    130  Interrupted        the run was interrupted; it can go on with ``restart="last"``

Other exit codes (1 internal error, 2 command line, negative: ended by a signal) are a CommandError itself.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Sequence

if TYPE_CHECKING:
    from .results import Results


class CaromError(Exception):
    """Any error of this package."""


class ProgramNotFound(CaromError):
    """The program carom was not found."""


class ResultsError(CaromError):
    """A directory has no results, or a file of the results is absent or damaged."""


class MissingPackage(CaromError, ImportError):
    """A Python package that only some functions need is not installed."""


@dataclass(frozen=True)
class Problem:
    """One error of a model, with its place."""

    message: str  #: what is wrong, and often the probable correction
    path: str  #: JSON pointer into the model, "/joints/0/of/1"; empty if the text is not JSON
    source: str  #: the file, or the override: "model.json", "--set /bodies/0/mass=-1"
    line: int | None  #: line of the file, from 1; None for overrides
    column: int | None  #: column of the file, from 1; None for overrides


class CommandError(CaromError):
    """The program ended with an exit code other than 0."""

    def __init__(self, command: Sequence[str], exit_code: int, stderr: str, results: Results | None = None) -> None:
        self.command = list(command)  #: the words of the command line
        self.exit_code = exit_code  #: negative: ended by this signal
        self.stderr = stderr  #: all that the program wrote to stderr
        self.results = results  #: the results until the error; None if the run did not begin
        reason = stderr.strip()
        if not reason:
            reason = f"ended by signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}, without a message"
        super().__init__(reason)

    def __reduce__(self) -> tuple[Any, ...]:
        # errors travel between processes, for instance from a concurrent.futures.ProcessPoolExecutor
        return type(self), (self.command, self.exit_code, self.stderr, self.results)


class ModelError(CommandError):
    """The model is invalid."""

    @property
    def problems(self) -> list[Problem]:
        """All errors of the model with their places, in the order of the program."""
        return problems_of(self.stderr)


class NotConverged(CommandError):
    """A step did not converge even after all halvings. ``results`` contains all steps before it."""


class FileAccessError(CommandError):
    """A file cannot be read or written, or another run uses the directory of the results."""


class ExpectationMissed(CommandError):
    """The run was completed, but its results differ from the model's ``expect``."""


class Interrupted(CommandError):
    """The run was interrupted by a signal."""


_BY_EXIT_CODE: dict[int, type[CommandError]] = {
    3: ModelError,
    4: NotConverged,
    5: FileAccessError,
    6: ExpectationMissed,
    130: Interrupted,
}


def command_error(
    command: Sequence[str], exit_code: int, stderr: str, results: Results | None = None
) -> CommandError:
    """The error of the class that belongs to an exit code."""
    return _BY_EXIT_CODE.get(exit_code, CommandError)(command, exit_code, stderr, results)


_PROBLEM = re.compile(
    r"(?P<source>.*?)(?::(?P<line>\d+):(?P<column>\d+))?: error(?: at (?P<path>/.*?))?: (?P<message>.*)"
)


def problems_of(report: str) -> list[Problem]:
    """The errors in a report of the program, one a line."""
    problems = []
    for text in report.splitlines():
        match = _PROBLEM.fullmatch(text)
        if match:
            line, column = match["line"], match["column"]
            problems.append(
                Problem(
                    match["message"],
                    match["path"] or "",
                    match["source"],
                    int(line) if line else None,
                    int(column) if column else None,
                )
            )
    return problems


def need(package: str, purpose: str) -> Any:
    """Imports a package, or says for what it is needed."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingPackage(f"{purpose} needs the Python package {package}: {error}", name=package) from error
