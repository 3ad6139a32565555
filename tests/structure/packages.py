#!/usr/bin/env python3
"""Fails when the Dockerfile, the README or the Debian package need other packages than the script `carom` names.

Usage: packages.py ROOT
"""

import re
import sys
from pathlib import Path

# names in the README's list for other systems, and Debian's packages
PROGRAMS = {
    "g++": "g++", "CMake": "cmake", "Ninja": "ninja-build", "Eigen": "libeigen3-dev", "SuiteSparse": "libsuitesparse-dev",
    "OpenBLAS": "libopenblas-serial-dev", "nlohmann/json": "nlohmann-json3-dev", "CLI11": "libcli11-dev", "fmt": "libfmt-dev",
    "LZ4": "liblz4-dev", "Spectra": "libspectra-dev", "Gmsh": "libgmsh-dev",
}
NOT_NEEDED = {"ccache"}  # to build on other systems


def main():
    root = Path(sys.argv[1])
    problems = []
    lists = {name: words.split() for name, words in
             re.findall(r"^(\w+)_packages=\(([^)]*)\)", (root / "carom").read_text(), re.MULTILINE)}
    for name in ("run", "test", "plot", "package"):
        if not lists.get(name):
            problems.append(f"carom: no list {name}_packages")

    # the build stage leaves the packages to the script; the final stage may install what plots need, and the package
    stages = re.split(r"^FROM ", (root / "Dockerfile").read_text(), flags=re.MULTILINE)[1:]
    if len(stages) != 2 or "/source/carom build package package" not in stages[0] or "apt-get install" in stages[0]:
        problems.append("Dockerfile: expected a first stage that builds by `carom build package package` and installs nothing itself")
    if "/source/build/package/*.deb /tmp/" not in stages[-1]:
        problems.append("Dockerfile: the last stage does not take build/package/*.deb")
    for words in re.findall(r"apt-get install ([^&\n]*)", stages[-1]):
        others = {w for w in words.split() if not w.startswith("-") and w != "/tmp/*.deb"} - set(lists["plot"])
        if others:
            problems.append(f"Dockerfile: installs {', '.join(sorted(others))}, which no list of `carom` names")
    for stage in stages:
        if not stage.startswith("debian:12"):
            problems.append("Dockerfile: expected debian:12")

    cpack = (root / "cmake" / "CaromPackage.cmake").read_text()
    recommended = re.search(r"PACKAGE_RECOMMENDS ([^)]*)\)", cpack)
    if recommended is None or recommended[1].split() != lists["plot"]:
        problems.append("cmake/CaromPackage.cmake: recommends other packages than plot_packages")

    readme = (root / "README.md").read_text()
    needs = re.search(r"Other systems need (.*?)`cmake --preset release", readme, re.DOTALL)
    named = {package for word, package in PROGRAMS.items() if needs and word in needs[1]}
    for package in sorted(set(lists["run"]) - named - NOT_NEEDED):
        problems.append(f"README.md: the list for other systems lacks {package}")
    for package in sorted(named - set(lists["run"])):
        problems.append(f"README.md: the list for other systems names {package}, which `carom` does not install")
    print("\n".join(problems) or "the lists of packages agree")
    sys.exit(bool(problems))


main()
