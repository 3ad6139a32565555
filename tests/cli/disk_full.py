#!/usr/bin/env python3
"""A full disk, a limit of the size of files and missing rights: exit code 5, one line with the file and the reason, and
all files readable; with room again the run goes on from its last checkpoint to the same bytes.

The small disk is a tmpfs, mounted as root or in a name space of its own; root also makes devices like /dev/full.

Usage: disk_full.py CAROM DATA
Exit code 0: all as expected; 1: not; 77: no way to fill a disk.
"""

import json
import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from kill_restart import Failure, Files, compare, require  # noqa: E402

INSIDE = "CAROM_TEST_NAME_SPACE"
SETTINGS = ["/integrator/duration=0.2", "/output/checkpoint/every=20", "/output/vtu/every=20",
            "/output/energy={\"every\": 1}"]  # fmt: skip


class Program:
    def __init__(self, carom, data):
        self.carom = str(carom.resolve())
        self.model = str((data / "models/bead_chain.json").resolve())

    def command(self, target, *more):
        words = [self.carom, "run", self.model, "-q", "-o", str(target)]
        for setting in SETTINGS:
            words += ["--set", setting]
        return words + [str(word) for word in more]

    def run(self, target, *more, **settings):
        return subprocess.run(
            self.command(target, *more), capture_output=True, text=True, timeout=300, check=False, **settings
        )


def require_refusal(outcome, reason, folder, what):
    """Exit code 5 and one line that names a file of the folder and the reason."""
    said = outcome.stderr
    require(outcome.returncode == 5, f"{what}: exit code {outcome.returncode}\n{said}")
    require(said.count("\n") == 1 and said.startswith("carom: cannot "), f"{what}: {said}")
    require(str(folder) in said and said.endswith(f": {reason}\n"), f"{what}: {said}")
    require(not outcome.stdout, f"{what}: {outcome.stdout}")


def full_device(path):
    """A file to which nothing can be written because the disk is full; False if the user may not make devices."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        path.open("r+b").close()
        return True
    except OSError:
        path.unlink(missing_ok=True)
        return False


def status_of(folder):
    return json.loads((folder / "status.json").read_text())["status"]


def small_disks(program, scratch, reference):
    """False if mounting is impossible."""
    disk = scratch / "disk"
    disk.mkdir()
    stopped = runs = 0
    writers = set()
    for size in [12, 20, 28, 40, 56, 72, 100, 140, 180, 240, 320, 420]:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(disk)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            return False
        try:
            target = disk / "r"
            outcome = program.run(target)
            require_refusal(outcome, "No space left on device", target, f"a disk of {size} KiB")
            writers.add(Path(outcome.stderr.split(": ")[1].removeprefix("cannot write ")).suffix)
            files = Files(target)
            files.check()
            if (target / "status.json").exists():
                runs += 1
                stopped += status_of(target) == "stopped"
                # every step has a row in energy.csv, of which the disk may lack the last ones: those of the buffer
                steps = json.loads((target / "status.json").read_text())["steps"]
                rows = (target / "energy.csv").read_text().count("\n") - 2 if (target / "energy.csv").exists() else 0
                require(steps >= rows, f"a disk of {size} KiB: status.json says step {steps} after {rows} rows")

            # the same files if the disk has enough space
            room = scratch / "room"
            shutil.rmtree(room, ignore_errors=True)
            shutil.copytree(target, room)
            restart = ["--restart", "last"] if list(room.glob("checkpoint/*.cbor")) else []
            outcome = program.run(room, *restart)
            require(outcome.returncode == 0, f"after a disk of {size} KiB: {outcome.stderr}")
            compare(reference, room)
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    require(stopped == runs > 0, f"status.json says stopped in {stopped} of {runs} runs")
    print(f"small disks: {runs} runs stopped, full at {', '.join(sorted(writers))}")
    return True


def limited_files(program, scratch, reference):
    """RLIMIT_FSIZE cuts files at any byte; a disk cuts them at the end of a block."""
    target = scratch / "limited"
    for limit in [100, 1000, 5000, 9001, 12345, 17777, 30001, 70003]:
        shutil.rmtree(target, ignore_errors=True)
        outcome = program.run(
            target, preexec_fn=lambda size=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        )
        require_refusal(outcome, "File too large", target, f"files of {limit} bytes")
        if target.exists():
            Files(target).check()
        restart = ["--restart", "last"] if list(target.glob("checkpoint/*.cbor")) else []
        outcome = program.run(target, *restart)
        require(outcome.returncode == 0, f"after files of {limit} bytes: {outcome.stderr}")
        compare(reference, target)


def full_devices(program, scratch):
    target = scratch / "full"
    for name in ["probes.csv", "events.csv", "energy.csv", "iterations.csv", "view.py.tmp", "run.json.tmp",
                 "summary.json.tmp", "bead_chain.pvd.tmp", "status.json.tmp", "vtu/bead_chain_000003.vtu.tmp",
                 "checkpoint/000000000040.cbor.tmp"]:  # fmt: skip
        shutil.rmtree(target, ignore_errors=True)
        (target / name).parent.mkdir(parents=True)
        if not full_device(target / name):
            print("full devices: not tested, the user may not make one")
            return
        outcome = program.run(target)
        if name.endswith((".vtu.tmp", ".cbor.tmp")) and outcome.returncode == 0:
            continue  # unfinished files of an earlier run are removed at the start
        require_refusal(outcome, "No space left on device", target, name)
        require(name.removesuffix(".tmp") in outcome.stderr, outcome.stderr)
        if (target / name).exists() and not (target / name).is_file():
            (target / name).unlink()
        Files(target).check()
        if (target / "status.json").exists():
            require(status_of(target) == "stopped", f"{name}: status.json says {status_of(target)}")


def missing_rights(program, scratch):
    """Runs as another user if the test runs as root."""
    user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    scratch.chmod(0o755)
    if user and subprocess.run(
        [program.carom, "check", program.model], capture_output=True, check=False, **user
    ).returncode:
        print("rights: not tested, another user cannot read the sources")
        return
    home = scratch / "home"
    home.mkdir()
    home.chmod(0o777)
    target = home / "r"
    target.mkdir()
    target.chmod(0o777)
    require(program.run(target, **user).returncode == 0, "the run of another user fails")

    # neither the directory nor a table is writable; nothing changes
    before = {p: p.read_bytes() for p in target.rglob("*") if p.is_file()}
    for path in [target, target / "vtu", target / "checkpoint"]:
        path.chmod(0o555)
    require_refusal(program.run(target, **user), "Permission denied", target, "a directory that is read only")
    require({p: p.read_bytes() for p in target.rglob("*") if p.is_file()} == before, "a refused run changed a file")
    outcome = program.run(target, "--restart", "last", **user)
    require_refusal(outcome, "Permission denied", target, "a restart in a directory that is read only")
    for path in [target, target / "vtu", target / "checkpoint"]:
        path.chmod(0o777)
    for name in ["probes.csv", "energy.csv"]:
        content = (target / name).read_bytes()
        (target / name).chmod(0o444)
        require_refusal(program.run(target, **user), "Permission denied", target / name, f"{name}, read only")
        require((target / name).read_bytes() == content, f"{name} has changed")
        (target / name).chmod(0o666)
        Files(target).check()
    require_refusal(program.run(home / "r" / "run.json", **user), "Not a directory", home, "a file as directory")
    home.chmod(0o555)
    require_refusal(program.run(home / "new", **user), "Permission denied", home / "new", "no right to make a directory")
    home.chmod(0o777)
    shutil.rmtree(home)


def main():
    carom, data = Path(sys.argv[1]), Path(sys.argv[2])
    program = Program(carom, data)

    # mounting needs the rights of root, or a name space with these rights
    if os.geteuid() != 0 and INSIDE not in os.environ:
        word = subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False)
        if word.returncode == 0:
            environment = {**os.environ, INSIDE: "1"}
            return subprocess.run(
                ["unshare", "-Urm", sys.executable, "-B", __file__, *sys.argv[1:]], env=environment, check=False
            ).returncode
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        try:
            reference = scratch / "reference"
            outcome = program.run(reference)
            require(outcome.returncode == 0, outcome.stderr)
            mounted = small_disks(program, scratch, reference)
            limited_files(program, scratch, reference)
            full_devices(program, scratch)
            if INSIDE not in os.environ:
                missing_rights(program, scratch)
        except Failure as failure:
            print(failure)
            return 1
    if not mounted:
        print("no small disk can be mounted")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
