"""Reads the directory of ``carom sweep``."""

from __future__ import annotations

import csv
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import ResultsError, need
from .results import Results
from .tables import split_head

if TYPE_CHECKING:
    import numpy
    import pandas  # type: ignore[import]


class Sweep:
    """The table and the points of a sweep.

    ``sweep.table["z:max"]`` is a column by its name without the unit, ``sweep.units["z:max"]`` its unit. A column is of
    numbers if all its cells are, with NaN for empty ones (points that failed), and of text otherwise.
    """

    def __init__(self, directory: str | os.PathLike[str], table: str | os.PathLike[str] | None = None) -> None:
        """``table``: the file of ``--table``, if it is not in the directory."""
        self.directory = Path(directory)
        if not (self.directory / "sweep.json").is_file():
            raise ResultsError(f"there is no sweep of carom in {self.directory}: it has no sweep.json")
        self._file = self.directory / "table.csv" if table is None else Path(table)

    def __repr__(self) -> str:
        return f"carom.Sweep({str(self.directory)!r})"

    @cached_property
    def _cells(self) -> tuple[list[str], list[list[str]]]:
        try:
            with self._file.open(encoding="utf-8", newline="") as stream:
                rows = list(csv.reader(stream))
        except OSError as error:
            raise ResultsError(f"cannot read {self._file}: {error.strerror}; the sweep may go on") from error
        if not rows or any(len(row) != len(rows[0]) for row in rows):
            raise ResultsError(f"{self._file} is damaged: its rows have different lengths")
        return rows[0], rows[1:]

    @cached_property
    def units(self) -> dict[str, str]:
        """The units of the columns by their names; columns without a unit are left out."""
        return {name: unit for name, unit in map(split_head, self._cells[0]) if unit}

    @cached_property
    def table(self) -> numpy.ndarray[Any, Any]:
        """A row per point, as a structured array of NumPy."""
        np = need("numpy", "an array")
        heads, rows = self._cells
        names = [split_head(head)[0] for head in heads]
        columns = []
        for i, name in enumerate(names):
            cells = [row[i] for row in rows]
            if name in ("point", "exit_code") and all(cells):
                columns.append(np.array([int(cell) for cell in cells], dtype=np.int64))
                continue
            try:
                if name in ("status", "reason"):
                    raise ValueError
                columns.append(np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64))
            except ValueError:
                columns.append(np.array(cells, dtype=np.str_))
        table: numpy.ndarray[Any, Any] = np.empty(len(rows), [(n, c.dtype) for n, c in zip(names, columns)])
        for name, column in zip(names, columns):
            table[name] = column
        return table

    def dataframe(self) -> pandas.DataFrame:
        """The table as a DataFrame of pandas."""
        return need("pandas", "a DataFrame").DataFrame(self.table)

    def point(self, number: int) -> Results:
        """The results of a point, counted from 1; absent, which is an error, if the sweep does not keep its files."""
        wanted = {folder.name: folder for folder in (self.directory / "points").glob("*") if folder.name.isdigit()}
        for name, folder in wanted.items():
            if int(name) == number:
                return Results(folder)
        raise ResultsError(f"{self!r} has no point {number}")
