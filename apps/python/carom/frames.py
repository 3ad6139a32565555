"""Reads the series for ParaView: a .pvd file lists times and .vtu files, each with one unstructured grid.

The files hold appended raw data in blocks compressed by LZ4, which VTK reads but meshio does not; they are decoded here,
with the package lz4 where it is installed. [VTK File Formats,
https://docs.vtk.org/en/latest/design_documents/VTKFileFormats.html; LZ4 Block Format,
https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md]
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from .errors import ResultsError, need
from .tables import split_head

try:
    import lz4.block as _lz4  # type: ignore[import]
except ImportError:
    _lz4 = None

if TYPE_CHECKING:
    import meshio  # type: ignore[import]
    import numpy
    import pyvista  # type: ignore[import]

    Array = numpy.ndarray[Any, Any]

# VTK's cell types that the program writes, and meshio's names; the order of nodes is the same in both
_MESHIO_NAMES = {1: "vertex", 3: "line", 5: "triangle", 9: "quad", 10: "tetra", 12: "hexahedron"}


@dataclass(frozen=True)
class Frame:
    """One frame: a grid with fields at one time."""

    time: float
    file: Path
    points: Array  #: x, y, z of each point
    connectivity: Array  #: point numbers of all cells, in VTK's order of nodes
    offsets: Array  #: end of each cell in ``connectivity``
    types: Array  #: VTK's type of each cell
    point_data: dict[str, Array]  #: fields of points; a vector has one row per point
    cell_data: dict[str, Array]  #: fields of cells
    blocks: list[str] = field(default_factory=list)  #: names of the values of the cell field ``block``: "bodies/arm"
    units: dict[str, str] = field(default_factory=dict)  #: units of the fields by their names; fields without are left out

    def cells_of(self, block: str) -> Array:
        """Numbers of the cells of a block: "bodies/arm", "obstacles/floor", "joints/hinge", "stops/hinge.upper"."""
        np = need("numpy", "an array")
        if block not in self.blocks:
            raise ResultsError(f"no block {block!r}; there are {', '.join(self.blocks)}")
        numbers: Array = np.flatnonzero(self.cell_data["block"] == self.blocks.index(block))
        return numbers

    def to_meshio(self) -> meshio.Mesh:
        """The frame as a mesh of meshio, with the cells in the same order."""
        np, package = need("numpy", "an array"), need("meshio", "a mesh of meshio")
        unknown = set(self.types.tolist()) - set(_MESHIO_NAMES)
        if unknown:
            raise ResultsError(f"{self.file} has cells of VTK's types {sorted(unknown)}, which are not known here")
        # a block of meshio has consecutive cells of one type
        firsts = [0, *(np.flatnonzero(np.diff(self.types)) + 1).tolist()] if len(self.types) else []
        blocks = []
        for first, end in zip(firsts, [*firsts[1:], len(self.types)]):
            begin = int(self.offsets[first - 1]) if first else 0
            nodes = self.connectivity[begin : int(self.offsets[end - 1])]
            blocks.append((_MESHIO_NAMES[int(self.types[first])], nodes.reshape(end - first, -1)))
        cell_data = {name: np.split(values, firsts[1:]) for name, values in self.cell_data.items()}
        return package.Mesh(self.points, blocks, self.point_data, cell_data if blocks else {})

    def to_pyvista(self) -> pyvista.UnstructuredGrid:
        """The frame as a grid of pyvista, which reads the file itself."""
        return need("pyvista", "a grid of pyvista").read(os.fspath(self.file))


class Frames(Sequence[Frame]):
    """The frames of a series, in the order of time; a frame is read each time it is asked for."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.file = Path(file)
        try:
            collection = ElementTree.parse(self.file).getroot()
            entries = [(float(e.attrib["timestep"]), e.attrib["file"]) for e in collection.iter("DataSet")]
        except OSError as error:
            raise ResultsError(f"cannot read {self.file}: {error.strerror}") from error
        except (ElementTree.ParseError, KeyError, ValueError) as error:
            raise ResultsError(f"{self.file} is damaged: {error}") from error
        self._entries = [(time, self.file.parent / name) for time, name in entries]

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: Any) -> Any:
        """The frame, or for a slice the list of its frames."""
        if isinstance(index, slice):
            return [read_frame(file, time) for time, file in self._entries[index]]
        time, file = self._entries[index]
        return read_frame(file, time)

    def __iter__(self) -> Iterator[Frame]:
        for time, file in self._entries:
            yield read_frame(file, time)

    @property
    def times(self) -> list[float]:
        """The times of all frames."""
        return [time for time, _ in self._entries]

    @property
    def files(self) -> list[Path]:
        """The files of all frames, for other programs."""
        return [file for _, file in self._entries]

    def at(self, time: float) -> Frame:
        """The frame whose time is nearest."""
        if not self._entries:
            raise ResultsError(f"{self.file} has no frames")
        nearest = min(range(len(self)), key=lambda i: abs(self._entries[i][0] - time))
        frame: Frame = self[nearest]
        return frame


def read_frame(file: Path, time: float) -> Frame:
    """The grid of a .vtu file that the program wrote."""
    need("numpy", "an array")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ResultsError(f"cannot read {file}: {error.strerror}") from error
    try:
        begin = content.index(b"<AppendedData")
        grid = ElementTree.fromstring(content[:begin] + b"</VTKFile>")
        if grid.attrib["type"] != "UnstructuredGrid" or grid.attrib["byte_order"] != "LittleEndian":
            raise ValueError("not an unstructured grid in little-endian order")
        if grid.attrib["header_type"] != "UInt32" or grid.attrib["compressor"] != "vtkLZ4DataCompressor":
            raise ValueError("expected blocks compressed by LZ4 with heads of UInt32")
        data = memoryview(content)[content.index(b"_", begin) + 1 :]

        def arrays(name: str) -> dict[str, Array]:
            return {e.attrib["Name"]: _array(e.attrib, data) for e in grid.iterfind(f".//Piece/{name}/DataArray")}

        cells, points = arrays("Cells"), arrays("Points")["Points"]
        return Frame(
            time,
            file,
            points,
            cells["connectivity"],
            cells["offsets"],
            cells["types"],
            arrays("PointData"),
            arrays("CellData"),
            _texts(grid.find(".//FieldData/Array[@Name='blocks']"), data),
            dict(split_head(text) for text in _texts(grid.find(".//FieldData/Array[@Name='units']"), data)),
        )
    except (ElementTree.ParseError, KeyError, ValueError, IndexError, RuntimeError) as error:
        raise ResultsError(f"{file} is not a file of carom's series, or is damaged: {error}") from error


_TYPES = {"Float64": "<f8", "Float32": "<f4", "Int64": "<i8", "Int32": "<i4", "UInt8": "u1"}


def _texts(element: ElementTree.Element | None, data: memoryview) -> list[str]:
    """Texts with a zero byte behind each; none without the element."""
    if element is None:
        return []
    return _bytes(int(element.attrib["offset"]), data).decode().split("\0")[:-1]


def _array(attributes: dict[str, str], data: memoryview) -> Array:
    np = need("numpy", "an array")
    values: Array = np.frombuffer(_bytes(int(attributes["offset"]), data), _TYPES[attributes["type"]])
    components = int(attributes.get("NumberOfComponents", "1"))
    return values.reshape(-1, components) if components > 1 else values


def _bytes(offset: int, data: memoryview) -> bytes:
    np = need("numpy", "an array")
    # number of blocks, bytes of a block, bytes of a last, shorter block or 0, compressed bytes of each block
    count, size, last = (int(n) for n in np.frombuffer(data, "<u4", 3, offset))
    lengths = np.frombuffer(data, "<u4", count, offset + 12).tolist()
    begin = offset + 12 + 4 * count
    parts = []
    for i, length in enumerate(lengths):
        if begin + length > len(data):
            raise ValueError("the compressed data end too early")
        parts.append(_decompress(data[begin : begin + length], last if last and i == count - 1 else size))
        begin += length
    return b"".join(parts)


def _decompress(block: memoryview, size: int) -> bytes:
    """A block of LZ4: sequences of literals and of matches, which repeat bytes that were already written."""
    if _lz4 is not None:
        return bytes(_lz4.decompress(bytes(block), uncompressed_size=size))
    out = bytearray()
    i, end = 0, len(block)
    while i < end:
        token = block[i]
        i += 1
        length = token >> 4
        if length == 15:
            while True:
                length += block[i]
                i += 1
                if block[i - 1] != 255:
                    break
        if i + length > end:
            raise ValueError("the literals of a compressed block end too early")
        out += block[i : i + length]
        i += length
        if i >= end:
            break  # the last sequence has no match
        distance = block[i] | block[i + 1] << 8
        i += 2
        length = (token & 15) + 4
        if length == 19:
            while True:
                length += block[i]
                i += 1
                if block[i - 1] != 255:
                    break
        start = len(out) - distance
        if distance == 0 or start < 0:
            raise ValueError("a match of a compressed block lies before its begin")
        if distance >= length:
            out += out[start : start + length]
        else:  # the match overlaps what it writes: its bytes repeat
            pattern = bytes(out[start:])
            out += (pattern * (length // distance + 1))[:length]
    if len(out) != size:
        raise ValueError(f"a compressed block has {len(out)} bytes, not {size}")
    return bytes(out)
