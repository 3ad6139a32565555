"""Runs the program: ``carom run`` and ``carom check``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Mapping

from .errors import ProgramNotFound, command_error
from .results import Results

PathLike = str | os.PathLike[str]


def find_program() -> Path:
    """The program: $CAROM, else ``carom`` in $PATH, else the one that was installed or built with this package.

    Raises ProgramNotFound if there is none, or if $CAROM is set to something that cannot be executed.
    """
    named = os.environ.get("CAROM")
    if named:
        found = shutil.which(named)
        if found is None:
            raise ProgramNotFound(f"$CAROM is {named!r}, which is not an executable file")
        return Path(found)
    found = shutil.which("carom")
    if found is not None:
        return Path(found)
    # PREFIX/lib/python3/dist-packages/carom belongs to PREFIX/bin/carom, a source tree to its own release build
    for folder in Path(__file__).resolve().parents:
        for place in ("bin/carom", "build/release/bin/carom"):
            if shutil.which(folder / place) is not None:
                return folder / place
    raise ProgramNotFound("the program carom was not found: set $CAROM to its path, or add its folder to $PATH")


def run(
    model: PathLike,
    *,
    set: Mapping[str, Any] | None = None,
    output: PathLike | None = None,
    until: float | None = None,
    restart: PathLike | None = None,
    threads: int | None = None,
    program: PathLike | None = None,
) -> Results:
    """Solves a model and returns its results.

    model: the model file.
    set: values that replace those of the model, by JSON pointer: ``{"/integrator/step": 1e-4}``. A value is what JSON
        can hold, or a number or array of NumPy.
    output: the directory of the results; by default ``results/<model>`` in the present directory.
    until: the end time, instead of the model's.
    restart: a checkpoint; "last" for the newest one in the directory of the results; "auto" for the same, or a new run.
    threads: threads for elements and linear solvers of solids; the results are the same for any number.
    program: the program; by default that of find_program().

    Raises ModelError, NotConverged, FileAccessError, ExpectationMissed, Interrupted or CommandError; see carom.errors.
    After Ctrl-C the run finishes its step and completes its files, then KeyboardInterrupt is raised.
    """
    directory = Path(output) if output is not None else Path("results") / Path(model).stem
    options = ["--quiet", f"--output={os.fspath(directory)}", *_overrides(set)]
    if until is not None:
        options.append(f"--until={float(until)!r}")
    if restart is not None:
        options.append(f"--restart={os.fspath(restart)}")
    if threads is not None:
        options.append(f"--threads={int(threads)}")
    before = _identity(directory / "run.json")
    command, code, _, stderr = _call("run", options, model, program)
    if code == 0:
        return Results(directory)
    # a run that begins writes a new run.json; without it the directory may hold the results of another run
    now = _identity(directory / "run.json")
    results = Results(directory) if now is not None and now != before else None
    raise command_error(command, code, stderr, results)


def check(
    model: PathLike, *, set: Mapping[str, Any] | None = None, program: PathLike | None = None
) -> dict[str, Any]:
    """Validates a model and returns its stock, as ``carom check --json`` prints it; no step is taken.

    Raises ModelError if the model is invalid; its ``problems`` contain all errors with their places.
    """
    command, code, stdout, stderr = _call("check", ["--json", *_overrides(set)], model, program)
    if code != 0:
        raise command_error(command, code, stderr)
    stock: dict[str, Any] = json.loads(stdout)
    return stock


def _overrides(values: Mapping[str, Any] | None) -> list[str]:
    words = []
    for pointer, value in (values or {}).items():
        if not pointer.startswith("/") or "=" in pointer:
            raise ValueError(f"expected a JSON pointer as in '/integrator/step', got {pointer!r}")
        try:
            text = json.dumps(value, allow_nan=False, default=_plain)
        except ValueError as error:
            raise ValueError(f"the value of {pointer} cannot be written as JSON: {value!r}") from error
        words.append(f"--set={pointer}={text}")
    return words


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy as numbers and lists, paths as text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a value of the type {type(value).__name__} cannot be written as JSON")


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _call(
    name: str, options: list[str], model: PathLike, program: PathLike | None
) -> tuple[list[str], int, str, str]:
    """Command, exit code, stdout and stderr of the program."""
    executable = os.fspath(program) if program is not None else str(find_program())
    command = [executable, name, *options, "--", os.fspath(model)]
    try:
        # A group of its own, so that Ctrl-C on a terminal reaches the program once: a second signal would end it before
        # its files are complete.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            process_group=0,
        )
    except OSError as error:
        raise ProgramNotFound(f"cannot start {executable}: {error.strerror}") from error
    with process:
        try:
            stdout, stderr = process.communicate()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            process.communicate()
            raise
        except BaseException:
            process.kill()
            raise
    return command, process.returncode, stdout, stderr
