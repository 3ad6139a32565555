#!/usr/bin/env python3
"""Mutants: known ways to break the sources, which the tests must notice.

    mutate.py [NAME...]          breaks a copy of the tree in build/mutants, one mutant after the other, builds the
                                 tests that mutants.toml names for it and runs them until one fails; NAME may hold *
    mutate.py --check            only whether every searched text occurs exactly once
    mutate.py --list

Exit code: 0 all mutants were found; 1 one survives, does not compile, or its text is not found exactly once.
The tree itself is never touched.
"""

import argparse
import fnmatch
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib

root = pathlib.Path(__file__).resolve().parents[2]
tree = root / "build" / "mutants"
folders = ["apps", "cmake", "contact", "core", "data", "docs", "elements", "integrators", "io", "tests"]
seconds_per_test = 300


def read_mutants():
    with open(root / "tests" / "mutants" / "mutants.toml", "rb") as file:
        return tomllib.load(file)["mutant"]


def complaint(mutant):
    """Why a mutant cannot be applied; empty if it can."""
    path = root / mutant["file"]
    if not path.is_file():
        return f"no file {mutant['file']}"
    count = path.read_text().count(mutant["search"])
    if count != 1:
        return f"its text occurs {count} times in {mutant['file']}: {mutant['search']!r}"
    if mutant["search"] == mutant["replace"]:
        return "it changes nothing"
    return ""


def check(mutants):
    wrong = [(m["name"], complaint(m)) for m in mutants if complaint(m)]
    names = [m["name"] for m in mutants]
    wrong += [(name, "two mutants have this name") for name in sorted(set(names)) if names.count(name) > 1]
    for name, text in wrong:
        print(f"mutant {name}: {text}")
    return not wrong


def update_copy():
    """The copy holds the files of the tree; those that are the same keep their dates, so that little is built anew."""
    wanted = set()
    sources = [p for p in root.iterdir() if p.is_file()]
    for folder in folders:
        sources += [p for p in (root / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    for source in sources:
        target = tree / source.relative_to(root)
        wanted.add(target)
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)
    for path in [p for folder in folders for p in (tree / folder).rglob("*")]:
        if path.is_file() and path not in wanted:
            path.unlink()


def build(targets):
    """Empty, or the end of what the compiler says."""
    run = subprocess.run(["cmake", "--build", tree / "build" / "release", "--target", *targets], capture_output=True, text=True)
    if run.returncode == 0:
        return ""
    lines = [line for line in run.stdout.splitlines() if "error" in line] or run.stdout.splitlines()[-3:]
    return "\n    ".join(lines[:3])


def failed_test(command):
    """The name of the first test case that fails, empty if none does."""
    arguments = shlex.split(command)
    arguments = [str(tree / "build" / "release" / "bin" / arguments[0]), *arguments[1:], "--abort-after=1", "--no-colors",
                 "--test-suite-exclude=long"]
    try:
        run = subprocess.run(arguments, capture_output=True, text=True, timeout=seconds_per_test, errors="replace")
    except subprocess.TimeoutExpired:
        return f"{command}: takes more than {seconds_per_test} s"
    if run.returncode == 0:
        return ""
    names = re.findall(r"^TEST CASE: +(.*)$", run.stdout, re.MULTILINE)
    return names[-1] if names else f"{command}: exit code {run.returncode}"


def main():
    global tree
    parser = argparse.ArgumentParser(prog="./carom mutate", description="break a copy of the sources in known ways")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of mutants, * for any letters (default: all)")
    parser.add_argument("--check", action="store_true", help="only whether every searched text occurs exactly once")
    parser.add_argument("--list", action="store_true", help="names and what a user would see")
    parser.add_argument("--copy", metavar="DIR", help="where the copy of the sources is (default: build/mutants)")
    options = parser.parse_args()

    mutants = read_mutants()
    for name in options.names:
        if not any(fnmatch.fnmatch(m["name"], name) for m in mutants):
            parser.error(f"no mutant is named {name}")
    if options.names:
        mutants = [m for m in mutants if any(fnmatch.fnmatch(m["name"], name) for name in options.names)]
    if options.list:
        for m in mutants:
            print(f"{m['name']:34} {m['about']}")
        return 0
    if not check(mutants):
        return 1
    if options.check:
        print(f"{len(mutants)} mutants can be applied")
        return 0

    if options.copy:
        tree = pathlib.Path(options.copy).resolve()
    tree.mkdir(parents=True, exist_ok=True)
    mark = tree / ".copy_for_mutants"
    if not mark.exists() and any(tree.iterdir()):
        parser.error(f"{tree} is neither empty nor a copy for mutants")
    mark.touch()
    update_copy()
    print("building the tests without a mutant...", flush=True)
    subprocess.run(["cmake", "--preset", "release", "-DCAROM_BENCH=OFF"], cwd=tree, check=True,
                   stdout=subprocess.DEVNULL)
    targets = sorted({t.split()[0] for m in mutants for t in m["tests"]})
    error = build(targets)
    if error:
        print(f"the tests do not build:\n    {error}")
        return 1
    for command in sorted({t for m in mutants for t in m["tests"]}):
        failure = failed_test(command)
        if failure:
            print(f"a test fails without any mutant: {failure}")
            return 1

    survivors = 0
    for mutant in mutants:
        path = tree / mutant["file"]
        text = path.read_text()
        begin = time.monotonic()
        path.write_text(text.replace(mutant["search"], mutant["replace"]))
        try:
            error = build(sorted({t.split()[0] for t in mutant["tests"]}))
            found = "" if error else next((f for f in map(failed_test, mutant["tests"]) if f), "")
        finally:
            path.write_text(text)
        if error:
            outcome = f"DOES NOT COMPILE\n    {error}"
        else:
            outcome = f"found by: {found}" if found else "SURVIVES"
        survivors += 0 if found else 1
        print(f"{mutant['name']:34} {time.monotonic() - begin:4.0f} s  {outcome}", flush=True)
    print(f"{len(mutants) - survivors} of {len(mutants)} mutants found")
    return 1 if survivors else 0


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    sys.exit(main())
