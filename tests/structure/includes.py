#!/usr/bin/env python3
"""Fails when a source includes what its folder may not see.

    core <- elements <- io <- apps          integrators see core and contact, never an element
    core <- contact <- integrators <- io    only io sees JSON, VTK, Gmsh; only core/linear_solver_* sees SuiteSparse

Usage: includes.py ROOT
"""

import re
import sys
from pathlib import Path

MAY_INCLUDE = {
    "core": {"core"},
    "elements": {"elements", "core"},
    "contact": {"contact", "core"},
    "integrators": {"integrators", "contact", "core"},
    "io": {"io", "elements", "integrators", "contact", "core"},
    "apps": {"apps", "io", "elements", "integrators", "contact", "core"},
}

# Foreign headers: (what, pattern of the include, pattern of the files that may have it, the same in words).
FOREIGN = [
    ("JSON", r"nlohmann/", r"io/", "io/"),
    ("VTK", r"vtk", r"io/", "io/"),
    ("Gmsh", r"gmsh", r"io/", "io/"),
    ("CLI11", r"CLI/", r"apps/", "apps/"),
    (
        "SuiteSparse",
        r"(.*/)?(klu|umfpack|cholmod|amd|camd|colamd|ccolamd|btf|SuiteSparse_config|SuiteSparseQR)\w*\.h(pp)?$"
        r"|Eigen/(KLU|UmfPack|Cholmod|SPQR)Support",
        r"core/linear_solver_[^/]*\.cpp$",
        "core/linear_solver_*.cpp",
    ),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".cpp", ".hpp", ".h", ".inl"}


def violations_of(name, text):
    """All violations of one file; name is its path from the root."""
    folder = name.split("/")[0]
    for number, line in enumerate(text.splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, header = match.groups()
        where = f"{name}:{number}"

        target = header.split("/")[0] if "/" in header else None
        if target in MAY_INCLUDE or target == "tests":
            if target not in MAY_INCLUDE[folder]:
                allowed = ", ".join(sorted(MAY_INCLUDE[folder]))
                yield f'{where}: {folder} must not include "{header}"; it sees {allowed}'
            continue

        foreign = False
        for what, include_pattern, file_pattern, place in FOREIGN:
            if re.match(include_pattern, header):
                foreign = True
                if not re.match(file_pattern, name):
                    yield f"{where}: {what} ({header}) must stay inside {place}"

        if quote == '"' and not foreign:
            yield f'{where}: "{header}" should be written from the project root, as "{folder}/..."'


def main():
    root = Path(sys.argv[1])
    found, files = [], 0
    for folder in MAY_INCLUDE:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                files += 1
                name = path.relative_to(root).as_posix()
                found += violations_of(name, path.read_text(encoding="utf-8", errors="replace"))
    for violation in found:
        print(violation)
    print(f"{files} files, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
