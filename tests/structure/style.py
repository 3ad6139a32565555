#!/usr/bin/env python3
"""Fails when a source is not formatted as .clang-format says; 77 (skipped) without clang-format.

Usage: style.py ROOT
"""

import shutil
import subprocess
import sys
from pathlib import Path

FOLDERS = ["core", "elements", "contact", "integrators", "io", "apps", "tests"]
SUFFIXES = {".cpp", ".hpp", ".h", ".inl"}


def main():
    root = Path(sys.argv[1])
    program = shutil.which("clang-format") or shutil.which("clang-format-14")
    if program is None:
        print("clang-format not found")
        return 77
    files = sorted(
        str(path.relative_to(root))
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.suffix in SUFFIXES and path.is_file()
    )
    if not files:
        return 0
    result = subprocess.run([program, "--dry-run", "-Werror", "--style=file", *files], cwd=root, check=False)
    if result.returncode != 0:
        print(f"to mend it: {program} -i FILE...")
    return 1 if result.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
