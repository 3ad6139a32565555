#!/usr/bin/env python3
"""Runs the program on wrong models and command lines and compares its complete output and exit code.

Usage: wrong_models.py CAROM [--write] [TITLE...]

The cases are the files wrong_models/*.txt beside this script; wrong_models/README.md explains them. With words only the
cases whose titles contain one of them run. --write puts what the program says in place of what is expected: read every
line of the difference before you keep it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "wrong_models"
KINDS = ("structural", "semantic", "syntax", "command", "file", "valid")


def with_bytes(text):
    """Text as bytes: <<EF BB>> are bytes, <<3*[>> is a text repeated."""

    def replace(match):
        inner = match.group(1)
        repeated = re.fullmatch(r"(\d+)\*(.*)", inner, re.DOTALL)
        if repeated:
            return repeated.group(2).encode() * int(repeated.group(1))
        return bytes.fromhex(inner)

    parts = re.split(r"<<(.*?)>>", text)
    return b"".join(
        replace(re.fullmatch(r"<<(.*)>>", f"<<{part}>>", re.DOTALL)) if i % 2 else part.encode()
        for i, part in enumerate(parts)
    )


class Case:
    """One block of a file."""

    def __init__(self, place, kind, title):
        self.place, self.kind, self.title = place, kind, title
        self.changes, self.lines = [], []
        self.command = "carom check model.json"
        self.code = 0 if kind == "valid" else 3
        self.expected = ""
        self.found = None

    def model(self):
        """The text of model.json, as bytes."""
        if self.lines:
            return with_bytes("\n".join(self.lines))
        text = (FOLDER / "base.json").read_bytes()
        for old, new in self.changes:
            old, new = with_bytes("\n".join(old)), with_bytes("\n".join(new))
            if text.count(old) != 1:
                raise ValueError(f"{self.place}: {old.decode()!r} stands {text.count(old)} times in base.json")
            text = text.replace(old, new)
        return text

    def value(self):
        """The model as a Python value; ValueError if the text is not JSON."""
        text = self.model().decode("utf-8-sig")
        token = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
        return json.loads(token.sub(lambda m: m.group() if m.group()[0] == '"' else " ", text))


def read_cases(path):
    """The cases of a file; the first character of a line gives its meaning."""
    cases, case, before = [], None, ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark, rest = line[:1], line[2:]
        place = f"{path.name}:{number}"
        if mark == "#" or (not line.strip() and case is None):
            pass
        elif mark == "=":
            header = re.fullmatch(r"== \[(\w+)\] (.+)", line)
            if not header or header.group(1) not in KINDS:
                raise ValueError(f"{place}: expected '== [KIND] TITLE' with one of {', '.join(KINDS)}")
            case = Case(place, *header.groups())
            cases.append(case)
        elif case is None:
            raise ValueError(f"{place}: expected '== [KIND] TITLE' first")
        elif mark == "-":
            if before != "-":
                case.changes.append(([], []))
            case.changes[-1][0].append(rest)
        elif mark == "+":
            case.changes[-1][1].append(rest)
        elif mark == "|":
            case.lines.append(rest)
        elif mark == "$":
            case.command = rest
        elif mark == "?":
            case.code = int(rest)
        elif mark == ">":
            case.expected += rest + "\n"
        elif line.strip():
            raise ValueError(f"{place}: a line begins with one of = # - + | $ ? >")
        before = mark
    return cases


def all_cases():
    return [case for path in sorted(FOLDER.glob("*.txt")) for case in read_cases(path)]


def words_of(command):
    """The words of a command line; '...' keeps blanks, <<FF>> gives bytes."""
    return [with_bytes(a or b) for a, b in re.findall(r"'([^']*)'|(\S+)", command.replace("''", "'<<>>'"))][1:]


def run(program, case):
    """The difference between expected and actual output; empty if they agree."""
    try:
        return run_case(program, case)
    except PermissionError:  # the user nobody may not start the program
        return []


def run_case(program, case):
    """As run()."""
    with tempfile.TemporaryDirectory(prefix="carom_wrong_") as name:
        folder = Path(name)
        for file in (FOLDER / "files").iterdir():
            shutil.copy(file, folder)
        (folder / "model.json").write_bytes(case.model())
        (folder / "folder").mkdir()
        (folder / "circle.json").symlink_to("circle.json")
        (folder / "secret.json").write_text("{}")
        (folder / "secret.json").chmod(0)
        # root may read everything, the user nobody may not
        other = {}
        if os.geteuid() == 0 and "secret.json" in case.command:
            folder.chmod(0o755)
            other = {"user": 65534, "group": 65534, "extra_groups": []}
        result = subprocess.run(
            [program, *words_of(case.command)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
            **other,
        )
        left = sorted(p.name for p in folder.iterdir() if p.name == "results")
    case.found = result.stderr.decode(errors="backslashreplace")
    problems = []
    if result.returncode != case.code:
        problems.append(f"exit code {result.returncode}, expected {case.code}")
    if case.found != case.expected:
        problems.append("stderr:\n" + case.found + "expected:\n" + case.expected)
    if case.code not in (0, 4) and (result.stdout or left):  # a run that does not converge leaves what it has
        problems.append("it prints or writes results")
    return problems


def write_found(cases):
    """Writes the actual output to the files."""
    for name in {case.place.split(":")[0] for case in cases}:
        path = FOLDER / name
        found = {case.place: case.found for case in cases if case.found is not None}
        out, place, pending = [], None, []
        for number, line in enumerate([*path.read_text().splitlines(), "== end"], 1):
            if line.startswith("=="):
                while place and not out[-1].strip():
                    out.pop()
                out += pending + ([""] if place else [])
                place = f"{name}:{number}"
                pending = ["> " + text for text in found[place].splitlines()] if place in found else []
                out.append(line)
            elif not (line.startswith(">") and place in found):
                out.append(line)
        path.write_text("\n".join(out[:-1]).rstrip() + "\n")


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    program, words = Path(arguments[0]).resolve(), arguments[1:]
    cases = [c for c in all_cases() if not words or any(word in c.title for word in words)]
    titles = [case.title for case in cases]
    doubled = sorted({title for title in titles if titles.count(title) > 1})
    if doubled:
        print("titles that occur twice: " + "; ".join(doubled))
        return 1
    with ThreadPoolExecutor(2) as pool:
        problems = list(pool.map(lambda case: run(program, case), cases))
    if "--write" in sys.argv:
        write_found(cases)
    wrong = 0
    for case, found in zip(cases, problems):
        if found:
            wrong += 1
            print(f"---- {case.place}: {case.title}: " + "\n".join(found))
    print(f"{len(cases)} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
