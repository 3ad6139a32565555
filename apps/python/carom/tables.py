"""Reads the program's CSV tables into structured arrays of NumPy."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Sequence

from .errors import ResultsError, need

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


def split_head(head: str) -> tuple[str, str]:
    """The name and the unit of a column: "tip.z" and "m" for the head "tip.z [m]"; the unit may be empty."""
    match = re.fullmatch(r"(.+) \[([^\]]*)\]", head)
    return (match[1], match[2]) if match else (head, "")


def read_units(file: Path) -> dict[str, str]:
    """The units of the columns by their names; columns without a unit are left out."""
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            heads = next(csv.reader([stream.readline()]), [])
    except OSError as error:
        raise ResultsError(f"cannot read {file}: {error.strerror}") from error
    return {name: unit for name, unit in map(split_head, heads) if unit}


def read_table(file: Path, text: Sequence[str] = (), integer: Sequence[str] = ()) -> Array:
    """The table as a structured array with one field per column, named as in the file without the unit.

    A column that is named in neither ``text`` nor ``integer`` has numbers, with NaN for empty cells.

    The program writes doubles with all digits, so the values have the bits that it computed.
    """
    np = need("numpy", "an array")
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            names = [split_head(head)[0] for head in next(csv.reader([stream.readline()]), [])]
            if not names:
                raise ResultsError(f"{file} is damaged: it has no header")
            if not text and not integer:
                kind = np.dtype([(name, np.float64) for name in names])
                lines = [line for line in stream if line.strip()]
                values = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2) if lines else np.empty((0, len(names)))
                if values.shape[1] != len(names):
                    raise ResultsError(f"{file} is damaged: {len(names)} columns are named, {values.shape[1]} found")
                numbers: Array = np.ascontiguousarray(values, dtype=np.float64).view(kind).reshape(-1)
                return numbers
            rows = [row for row in csv.reader(stream) if row]
        for number, row in enumerate(rows, start=2):
            if len(row) != len(names):
                raise ResultsError(f"{file} is damaged: row {number} has {len(row)} cells, not {len(names)}")
        columns = []
        for i, name in enumerate(names):
            cells = [row[i] for row in rows]
            if name in text:
                columns.append(np.array(cells, dtype=np.str_))
            elif name in integer:
                columns.append(np.array([int(cell) for cell in cells], dtype=np.int64))
            else:
                columns.append(np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64))
    except OSError as error:
        why = "the model may switch this table off, and a static run has only probes"
        raise ResultsError(f"cannot read {file}: {error.strerror}; {why}") from error
    except ValueError as error:
        raise ResultsError(f"{file} is damaged: {error}") from error
    table: Array = np.empty(len(rows), dtype=[(name, column.dtype) for name, column in zip(names, columns)])
    for name, column in zip(names, columns):
        table[name] = column
    return table
