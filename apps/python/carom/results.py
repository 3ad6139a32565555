"""Reads the directory of the results of a run."""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ResultsError, need
from .frames import Frames
from .tables import read_table, read_units

if TYPE_CHECKING:
    import numpy
    import pandas  # type: ignore[import]


class Results:
    """The results of one run.

    Tables are structured arrays of NumPy, so ``results.probes["tip.z"]`` is the column of a probe. Files are read when
    they are first asked for and are then kept; a new object reads the files of a run that goes on again.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        if not self.directory.is_dir():
            raise ResultsError(f"there is no directory {self.directory}")
        if not (self.directory / "run.json").is_file():
            raise ResultsError(f"there are no results of carom in {self.directory}: it has no run.json")

    def __repr__(self) -> str:
        return f"carom.Results({str(self.directory)!r})"

    @cached_property
    def model(self) -> dict[str, Any]:
        """run.json: the model with all default values."""
        return self._json("run.json")

    @cached_property
    def summary(self) -> dict[str, Any]:
        """summary.json: the account of the run. Absent, which is an error, while the run goes on or after kill -9."""
        return self._json("summary.json")

    @cached_property
    def status(self) -> dict[str, Any]:
        """status.json: the progress of the run."""
        return self._json("status.json")

    @property
    def completed(self) -> bool:
        """Whether the run came to its end: not failed, not interrupted, not going on."""
        return self._path("summary.json").is_file() and self.summary["status"] == "completed"

    @cached_property
    def probes(self) -> numpy.ndarray[Any, Any]:
        """probes.csv: ``t`` and a column for each probe, three for a vector: ``tip.x``, ``tip.y``, ``tip.z``."""
        return read_table(self._path("probes.csv"))

    @cached_property
    def energy(self) -> numpy.ndarray[Any, Any]:
        """energy.csv: the energy and the work that changes it."""
        return read_table(self._path("energy.csv"))

    @cached_property
    def events(self) -> numpy.ndarray[Any, Any]:
        """events.csv: a row for each impact and release; ``event`` and ``contact`` are text, ``step`` is an integer."""
        return read_table(self._path("events.csv"), text=("event", "contact", "mode_before", "mode"), integer=("step",))

    @cached_property
    def iterations(self) -> numpy.ndarray[Any, Any]:
        """iterations.csv: steps, rejected trials, and iterations of the sub-problems: ``smooth.mean``, ``smooth.max``."""
        return read_table(self._path("iterations.csv"))

    def units(self, table: str) -> dict[str, str]:
        """The units of the columns of the table "probes", "energy", "events" or "iterations", by their names.

        Columns without a unit are left out; ``results.units("probes")["tip.z"]`` is "m". Tables of a model with
        ``"units": "none"`` have no units.
        """
        return read_units(self._table(table))

    def dataframe(self, table: str) -> pandas.DataFrame:
        """The table "probes", "energy", "events" or "iterations" as a DataFrame of pandas."""
        self._table(table)
        return need("pandas", "a DataFrame").DataFrame(getattr(self, table))

    @cached_property
    def frames(self) -> Frames:
        """The frames of the series for ParaView."""
        series = sorted(self.directory.glob("*.pvd"))
        if not series:
            raise ResultsError(f"there is no series (*.pvd) in {self.directory}: the model may switch it off")
        if len(series) > 1:
            names = ", ".join(file.name for file in series)
            raise ResultsError(f"several series are in {self.directory}: {names}; read one with carom.Frames(FILE)")
        return Frames(series[0])

    def _table(self, name: str) -> Path:
        if name not in ("probes", "energy", "events", "iterations"):
            raise ValueError(f'expected "probes", "energy", "events" or "iterations", got {name!r}')
        return self._path(f"{name}.csv")

    def _path(self, name: str) -> Path:
        return self.directory / name

    def _json(self, name: str) -> dict[str, Any]:
        file = self._path(name)
        try:
            value: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise ResultsError(f"cannot read {file}: {error.strerror}") from error
        except ValueError as error:
            raise ResultsError(f"{file} is damaged: {error}") from error
        return value
