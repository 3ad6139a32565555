#!/usr/bin/env python3
"""Fails when a source includes what its folder may not see.

    core <- elements <- io <- apps          integrators see core and contact, never an element
    core <- contact <- integrators <- io    only io sees JSON, LZ4, Gmsh; only core/linear/linear_solver_* sees SuiteSparse

Within a top-level folder the sub-folders stand on those below them, in the order of SUB_FOLDERS.

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

# What a sub-folder may include of its own top-level folder, beside itself.
SUB_FOLDERS = {
    "core/base": set(),
    "core/lie": {"core/base"},
    "core/formula": {"core/base"},
    "core/linear": {"core/base"},
    "core/mechanics": {"core/base", "core/lie", "core/formula", "core/linear"},
    "contact/gap": set(),
    "contact/law": set(),
    "elements/bodies": set(),
    "elements/beam": set(),
    "elements/solid": set(),
    "elements/joints": set(),
    "elements/loads": {"elements/solid"},
    "integrators/common": set(),
    "integrators/methods": {"integrators/common"},
    "io/schema": set(),
    "io/mesh": {"io/schema", "io/mesh/gmsh"},
    "io/mesh/gmsh": set(),
    "io/model": {"io/mesh", "io/schema", "io/model/types"},
    "io/model/types": {"io/model", "io/mesh", "io/schema"},
    "io/results": {"io/model", "io/model/types", "io/mesh", "io/schema"},
    "io/studies": {"io/results", "io/model", "io/model/types", "io/mesh", "io/schema"},
}

# Sub-folders that see less of the other top-level folders than their own folder may.
NARROW = {"io/schema": {"core/base", "core/formula"}}

# Foreign headers: (what, pattern of the include, pattern of the files that may have it, the same in words).
FOREIGN = [
    ("JSON", r"nlohmann/", r"io/", "io/"),
    ("LZ4", r"lz4", r"io/", "io/"),
    ("Gmsh", r"gmsh", r"io/", "io/"),
    ("CLI11", r"CLI/", r"apps/", "apps/"),
    (
        "SuiteSparse",
        r"(.*/)?(klu|umfpack|cholmod|amd|camd|colamd|ccolamd|btf|SuiteSparse_config|SuiteSparseQR)\w*\.h(pp)?$"
        r"|Eigen/(KLU|UmfPack|Cholmod|SPQR)Support",
        r"core/linear/linear_solver_[^/]*\.cpp$",
        "core/linear/linear_solver_*.cpp",
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
            own, other = (str(Path(path).parent) for path in (name, header))
            if own in SUB_FOLDERS and other in SUB_FOLDERS and other != own:
                allowed = SUB_FOLDERS[own] if target == folder else NARROW.get(own)
                if allowed is not None and other not in allowed:
                    yield f'{where}: {own} must not include "{header}"; it sees {", ".join(sorted(allowed))}'
            elif target == folder and own != other:
                yield f'{where}: "{header}" lies in no sub-folder that {Path(sys.argv[0]).name} knows'
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
