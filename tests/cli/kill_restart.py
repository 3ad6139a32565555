#!/usr/bin/env python3
"""Runs that are killed at random moments and restarted end with the same bytes as an undisturbed run.

Models are run with frequent checkpoints and pictures, so that kills hit the writing of files too. After every kill all
files are readable; at the end tables, series and statistics are those of an uninterrupted run.

Usage: kill_restart.py CAROM DATA [--kills 50] [--seed N] [--only NAME]
Exit code 0: all as expected; 1: not.
"""

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path

TABLES = ["probes.csv", "events.csv", "energy.csv", "iterations.csv"]
# Keys of summary.json that a restart must not change; times and the number of solves may change.
SUMMARY = ["status", "steps", "substeps", "time", "iterations", "subdivided_steps", "rejected_steps", "residuals",
           "max_penetration", "impacts", "redundant_steps", "energy", "scales"]  # fmt: skip
NOT_COUNTED = {"solves"}


class Failure(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Failure(what)


# ---- models that are large enough for the sparse solvers


def chain_of_bodies(count):
    """A row of rigid links on spherical joints: little fill (KLU). The last link falls onto a floor."""
    bodies, joints = [], []
    for i in range(count):
        bodies.append(
            {
                "name": f"link_{i}",
                "type": "rigid",
                "mass": 1,
                "inertia": [0.01, 0.02, 0.015],
                "position": [i + 0.5, 0, 0],
                "points": [{"name": "a", "at": [-0.5, 0, 0]}, {"name": "b", "at": [0.5, 0, 0]}],
            }
        )
        before = "ground" if i == 0 else f"link_{i - 1}.b"
        joints.append({"name": f"joint_{i}", "type": "spherical", "of": [before, f"link_{i}.a"]})
    return {
        "format": 1,
        "gravity": [0, 0, -9.81],
        "bodies": bodies,
        "joints": joints,
        "contacts": [
            {
                "name": "floor",
                "on": f"link_{count - 1}.b",
                "restitution": 0.5,
                "obstacle": {"type": "plane", "point": [0, 0, -0.05], "normal": [0, 0, 1]},
            }
        ],
        "integrator": {"type": "nsga_decoupled", "step": 2e-3, "duration": 0.16},
        "output": {
            "probes": [
                {"name": "tip", "of": f"link_{count - 1}.b", "quantity": "position"},
                {"name": "pin", "of": "joint_0", "quantity": "constraint_force"},
                {"name": "energy", "quantity": "energy.total"},
            ]
        },
    }


def lattice(n, joints):
    """n^3 point masses on springs, optionally with a rigid link: much fill (UMFPACK). The masses fall onto a floor."""

    def name(i, j, k):
        return f"p_{i}_{j}_{k}"

    nodes = [(i, j, k) for i in range(n) for j in range(n) for k in range(n)]
    bodies = [{"name": name(*p), "type": "point_mass", "mass": 0.1, "position": [0.1 * c for c in p]} for p in nodes]
    springs = []
    for p in nodes:
        for d in [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1), (1, 0, 1), (1, 1, 1)]:
            q = tuple(a + b for a, b in zip(p, d))
            if max(q) < n:
                springs.append(
                    {"name": f"s_{len(springs)}", "of": [name(*p), name(*q)], "stiffness": 1e4, "damping": 0.5}
                )
    model = {
        "format": 1,
        "gravity": [0.5, 0, -9.81],
        "bodies": bodies,
        "springs": springs,
        "contacts": [
            {
                "name": "floor",
                "on": [name(i, j, 0) for i in range(n) for j in range(n)],
                "restitution": 0.2,
                "obstacle": {"type": "plane", "point": [0, 0, -0.0005], "normal": [0, 0, 1]},
            }
        ],
        "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.03},
        "output": {
            "probes": [
                {"name": "corner", "of": name(n - 1, n - 1, n - 1), "quantity": "position"},
                {"name": "impulse", "of": "floor", "quantity": "contact_impulse"},
            ]
        },
    }
    if joints:
        model["joints"] = [{"name": "link", "type": "rigid_link", "of": [name(0, 0, n - 1), name(n - 1, 0, n - 1)]}]
    return model


# Name, model (a file of data/models, or one made here), settings, share of the kills.
MODELS = [
    ("brick_tied", None, ["/integrator/duration=0.4"], 3),
    ("bead_chain", None, ["/integrator/duration=0.24"], 3),
    ("elastic_bar", None, ["/integrator/duration=0.6"], 3),
    ("heavy_top", None, ["/integrator/newton/method=modified", "/integrator/duration=0.4"], 3),
    ("brick", None, ["/integrator/newton/max_iterations=3", "/integrator/duration=0.5"], 2),
    ("chain", lambda: chain_of_bodies(40), ["/integrator/newton/method=modified"], 3),
    ("cube", None, ["/integrator/duration=0.26", "/expect=[]"], 2),
    ("lattice", lambda: lattice(5, False), [], 2),
    ("linked_lattice", lambda: lattice(5, True), ["/integrator/newton/method=modified"], 2),
]
EVERYWHERE = ["/output/checkpoint/every=3", "/output/vtu/every=5"]


# ---- files


class Files:
    """Checks all files of a directory; a file that has not changed since the last check is not read again."""

    def __init__(self, folder):
        self.folder = folder
        self.seen = {}
        self.count = 0

    def check(self):
        for path in sorted(self.folder.rglob("*")):
            if not path.is_file() or path.suffix == ".tmp":
                continue
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if self.seen.get(path) == stamp:
                continue
            data = path.read_bytes()
            try:
                self.check_file(path, data)
            except (ValueError, SyntaxError, ET.ParseError) as error:
                raise Failure(f"{path}: {error}") from error
            self.seen[path] = stamp
            self.count += 1

    def check_file(self, path, data):
        if path.suffix == ".json":
            require(json.loads(data)["status"] if path.name == "status.json" else json.loads(data), f"{path} is empty")
        elif path.suffix == ".csv":
            check_table(path, data)
        elif path.suffix == ".pvd":
            for entry in ET.fromstring(data).iter("DataSet"):
                float(entry.get("timestep"))
                require((self.folder / entry.get("file")).is_file(), f"{path} lists {entry.get('file')}, which is not")
        elif path.suffix == ".vtu":
            check_grid(path, data)
        elif path.suffix == ".cbor":
            check_checkpoint(path, data)
        elif path.name == "view.py":
            compile(data, path, "exec")
        elif path.name != ".carom.lock":
            raise Failure(f"{path}: what is that?")


def check_table(path, data):
    """Complete rows of numbers, and only blanks after the last row."""
    rows, _, rest = data.decode().rpartition("\n")
    require(rows, f"{path} has no columns")
    require(not rest.strip(" "), f"{path} ends with a broken row: {rest[-80:]!r}")
    rows = rows.split("\n")
    columns = rows[0].count(",")
    last = -float("inf")
    for row in rows[1:]:
        cells = row.split(",")
        require(len(cells) == columns + 1, f"{path}: a row of {len(cells)} cells: {row!r}")
        t = float(cells[0])
        require(t >= last or path.name == "events.csv", f"{path}: time runs backwards at {t}")
        last = t


def check_grid(path, data):
    """A VTU file with raw appended data: XML before and after the data, and blocks that end with the data."""
    begin = data.index(b'<AppendedData encoding="raw">')
    start = data.index(b"_", begin) + 1
    end = data.rindex(b"\n  </AppendedData>")
    tree = ET.fromstring(data[:begin] + b"</VTKFile>")
    require(data[end:].split() == [b"</AppendedData>", b"</VTKFile>"], f"{path} does not end as it must")
    size = 8 if tree.get("header_type") == "UInt64" else 4
    last = 0
    for array in tree.iter("DataArray"):
        at = start + int(array.get("offset"))
        number = lambda i: int.from_bytes(data[at + size * i : at + size * (i + 1)], "little")  # noqa: B023, E731
        blocks = number(0)
        last = max(last, at + size * (3 + blocks) + sum(number(3 + i) for i in range(blocks)))
    require(last == end, f"{path}: the data ends {end - last} bytes behind the last array")


def check_checkpoint(path, data):
    """The frame, and for small checkpoints the hash; the program checks the others at the restart."""
    head = re.match(rb"\xa3\x64body([\x58\x59\x5a\x5b])", data)
    require(head, f"{path} is no checkpoint")
    width = 1 << (head[1][0] - 0x58)
    start = head.end() + width
    size = int.from_bytes(data[head.end() : start], "big")
    tail = data[start + size :]
    # number 2: the format of checkpoints, in step with io/results/checkpoint.cpp
    require(tail.startswith(b"\x70carom checkpoint\x02\x64hash\x1b") and len(tail) == 32, f"{path} ends too early")
    if size < 12000:
        value = 0xCBF29CE484222325
        for byte in data[start : start + size]:
            value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        require(value == int.from_bytes(tail[-8:], "big"), f"{path} is damaged")


def last_frame(folder):
    return max(folder.glob("vtu/*.vtu"))


def counted(summary):
    return {key: summary[key] for key in SUMMARY} | {
        "linear": {k: v for k, v in summary["linear"].items() if k not in NOT_COUNTED}
    }


def compare(reference, folder):
    for name in TABLES + [f.relative_to(reference) for f in [last_frame(reference), *reference.glob("*.pvd")]]:
        require((folder / name).read_bytes() == (reference / name).read_bytes(), f"{folder / name} differs")
    was, now = (counted(json.loads((f / "summary.json").read_text())) for f in (reference, folder))
    require(was == now, f"{folder}/summary.json differs: {was} and {now}")


# ---- runs


class Killer:
    def __init__(self, program, folder, seed):
        self.program, self.folder = program, folder
        self.random = random.Random(seed)

    def kill_until(self, name, command, reference, seconds, kills):
        """Runs of one model; each run is killed repeatedly until it completes, until the number of kills is reached."""
        done, runs, from_start, looked = 0, 0, 0, 0
        while done < kills:
            target = self.folder / f"{name}_{runs}"
            files = Files(target)
            runs += 1
            for attempt in range(1000):
                restart = list((target / "checkpoint").glob("*.cbor"))
                arguments = [*command, "-o", str(target)] + (["--restart", "last"] if restart else [])
                from_start += 0 if restart else 1
                process = subprocess.Popen(
                    arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
                )
                # later kills come less often, so that every run ends
                wait = None if done >= kills else self.random.uniform(0, 0.6 + 0.05 * attempt) * seconds
                try:
                    said = process.communicate(timeout=wait)[1].decode()
                    require(process.returncode == 0, f"{' '.join(arguments)}: exit code {process.returncode}\n{said}")
                    break
                except subprocess.TimeoutExpired:
                    process.kill()
                    said = process.communicate()[1].decode()
                    require(process.returncode in (0, -9), f"exit code {process.returncode}\n{said}")
                    if process.returncode == 0:
                        break
                    done += 1
                    if target.exists():
                        files.check()
            files.check()
            looked += files.count
            compare(reference, target)
            shutil.rmtree(target)
        print(f"{name}: {done} kills in {runs} runs, {from_start} times from the start, {looked} files looked at")
        return done


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("carom", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--only")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)

    models = [m for m in MODELS if options.only in (None, m[0])]
    shares = sum(m[3] for m in models)
    done, begin = 0, time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        killer = Killer(options.carom.resolve(), folder, options.seed)
        for number, (name, made, settings, share) in enumerate(models):
            path = options.data.resolve() / "models" / f"{name}.json"
            if made:
                path = folder / f"{name}.json"
                path.write_text(json.dumps(made()))
            command = [str(options.carom.resolve()), "run", str(path), "-q"]
            for setting in settings + EVERYWHERE:
                command += ["--set", setting]
            reference = folder / f"{name}_reference"
            start = time.monotonic()
            subprocess.run([*command, "-o", str(reference)], check=True)
            seconds = time.monotonic() - start
            last = number + 1 == len(models)
            kills = options.kills - done if last else max(1, options.kills * share // shares)
            try:
                Files(reference).check()
                done += killer.kill_until(name, command, reference, seconds, kills)
            except Failure as failure:
                print(f"{name}: {failure}\nseed {options.seed}")
                return 1
            sys.stdout.flush()
    print(f"{done} kills, {time.monotonic() - begin:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
