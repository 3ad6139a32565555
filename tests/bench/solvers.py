#!/usr/bin/env python3
"""Time per step, work of the linear solvers and memory of models that need many equations, contacts or threads.

    tests/bench/solvers.py [--threads N] CAROM [OTHER_CAROM] [NAME...]

Each model runs with every program named, one directly after the other, so that ratios are those of one minute. A line:
program, model, equations, steps; ms per step (wall time of the integrator) and of the slowest sub-problem; mean
iterations of position, smooth motion and velocity; linear solves by factors and by conjugate gradients,
factorisations; steps that were halved; resident memory at its largest. Nothing is asserted.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIET = {"vtu": {"enabled": False}, "energy": {"enabled": False}, "events": {"enabled": False}, "probes": []}


def shipped(name, duration, **overrides):
    """A model of data/models; overrides: pointer -> value."""
    return {"file": str(ROOT / "data" / "models" / f"{name}.json"), "duration": duration, "set": overrides}


def hammer(divisions):
    return shipped("mixed", 0.05, **{"/bodies/3/mesh/divisions": divisions})


def cube(n, steps):
    return shipped("cube", steps * 1e-3, **{"/bodies/0/mesh/divisions": [n, n, n], "/integrator/step": 1e-3})


def solid(size, divisions, position, velocity, angular_velocity, duration):
    return {
        "format": 1, "gravity": [0, 0, -9.81],
        "materials": [{"name": "steel", "type": "linear_elastic", "young": 2.1e11, "poisson": 0.3, "density": 7850}],
        "bodies": [{"name": "part", "type": "solid", "material": "steel",
                    "mesh": {"type": "box", "size": size, "divisions": divisions}, "position": position,
                    "velocity": velocity, "angular_velocity": angular_velocity}],
        "contacts": [{"name": "floor", "on": "part.bottom", "restitution": 0,
                      "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
        "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": duration}}


def steel_block():
    return solid([0.2, 0.2, 0.2], [16, 16, 16], [0, 0, 0.101], [0, 0, -1], [0, 0, 0], 0.02)


def thin_plate():
    return solid([0.4, 0.2, 0.005], [80, 40, 2], [0, 0, 0.02], [0, 0, -3], [0.5, 1, 0], 0.01)


def crank_drive(n, duration):
    """Two steel bars of 12 n x 2 n x 2 n hexahedra, hinged at whole faces; a stop before the end of the slider's stroke."""
    r, l, omega, before = 0.15, 0.4, 20.0, 2e-3
    steel = {"name": "steel", "type": "linear_elastic", "young": 2.1e11, "poisson": 0.3, "density": 7850}
    bar = lambda length, height: {"type": "box", "size": [length, 0.02, height], "divisions": [12 * n, 2 * n, 2 * n]}
    half, tilt = math.sqrt(l * l - r * r), math.asin(r / l)
    return {
        "format": 1, "gravity": [0, 0, -9.81], "materials": [steel],
        "bodies": [
            {"name": "crank", "type": "solid", "material": "steel", "law": "neo_hookean", "mesh": bar(r, 0.04),
             "position": [0, 0, r / 2], "orientation": {"axis": [0, 1, 0], "angle": -math.pi / 2},
             "velocity": [omega * r / 2, 0, 0], "angular_velocity": [0, omega, 0]},
            {"name": "rod", "type": "solid", "material": "steel", "law": "neo_hookean", "mesh": bar(l, 0.025),
             "position": [half / 2, 0, r / 2], "orientation": {"axis": [0, 1, 0], "angle": tilt},
             "velocity": [omega * r, 0, 0]},
            {"name": "slider", "type": "rigid", "mass": 0.3, "inertia": [1e-4, 1e-4, 1e-4], "position": [half, 0, 0],
             "velocity": [omega * r, 0, 0]}],
        "ground": [{"name": "bearing", "at": [0, 0, 0]}],
        "joints": [
            {"name": "main", "type": "revolute", "of": ["ground.bearing", "crank.left"], "axis": [0, 1, 0]},
            {"name": "pin", "type": "revolute", "of": ["crank.right", "rod.left"], "axis": [0, 1, 0]},
            {"name": "knee", "type": "revolute", "of": ["rod.right", "slider"], "axis": [0, 1, 0]},
            {"name": "rail", "type": "prismatic", "of": ["ground.bearing", "slider"], "axis": [1, 0, 0],
             "stops": {"upper": r + l - before, "restitution": 0}}],
        "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": duration, "rho_infinity": 0.8}}


def boxes(count):
    bodies = [{"name": f"b{k}", "type": "rigid", "mass": 1, "shape": {"type": "box", "size": [0.1, 0.1, 0.1]},
               "position": [0.2 * k, 0, 0.0505]} for k in range(count)]
    return {"format": 1, "gravity": [0, 0, -9.81], "bodies": bodies,
            "contacts": [{"name": "floor", "on": [b["name"] for b in bodies], "restitution": 0,
                          "obstacle": {"type": "plane", "normal": [0, 0, 1]}}],
            "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": 0.3}}


def spheres(count, duration, friction=0, tolerance=1e-11):
    """Spheres in layers, a little out of line, fall into a square can. tolerance: of the constraints."""
    r = 0.05
    side = round(count ** (1 / 3))
    width = 2.2 * r * side
    bodies = []
    for k in range(count):
        layer, i, j = k // side ** 2, k % side, k // side % side
        at = [(i + 0.5) * 2.2 * r + 0.004 * math.sin(7 * k + layer), (j + 0.5) * 2.2 * r + 0.004 * math.cos(11 * k),
              (layer + 0.5) * 2.2 * r]
        bodies.append({"name": f"s{k}", "type": "rigid", "mass": 1, "shape": {"type": "sphere", "radius": r}, "position": at})
    names = [b["name"] for b in bodies]
    walls = {"floor": ([0, 0, 1], [0, 0, 0]), "left": ([1, 0, 0], [0, 0, 0]), "right": ([-1, 0, 0], [width, 0, 0]),
             "front": ([0, 1, 0], [0, 0, 0]), "back": ([0, -1, 0], [0, width, 0])}
    law = {"restitution": 0, "friction": friction}
    contacts = [{"name": name, "on": names, **law, "obstacle": {"type": "plane", "normal": n, "point": p}}
                for name, (n, p) in walls.items()]
    contacts.append({"name": "spheres", "between": names, **law})
    return {"format": 1, "gravity": [0, 0, -9.81], "bodies": bodies, "contacts": contacts,
            "integrator": {"type": "nsga_decoupled", "step": 1e-3, "duration": duration,
                           "newton": {"constraint_tolerance": tolerance}}}


MODELS = {
    "mixed": lambda: hammer([4, 3, 4]),
    "head_8": lambda: hammer([8, 6, 8]),
    "head_12": lambda: hammer([12, 9, 12]),
    "head_16": lambda: hammer([16, 12, 16]),
    "steel_block": steel_block,
    "thin_plate": thin_plate,
    "crank_4": lambda: crank_drive(2, 0.03),
    "crank_8": lambda: crank_drive(4, 0.03),
    "crank_12": lambda: crank_drive(6, 0.03),
    "boxes": lambda: boxes(200),
    "spheres_100": lambda: spheres(100, 1.0),
    "spheres_1000": lambda: spheres(1000, 0.3),
    "spheres_rest": lambda: spheres(1000, 1.5),
    "rough_27": lambda: spheres(27, 1.5, 0.5),
    "rough_100": lambda: spheres(100, 1.5, 0.5),
    "rough_1000": lambda: spheres(1000, 0.3, 0.5),
    "coarse_100": lambda: spheres(100, 1.5, 0.5, 1e-5),
    "coarse_1000": lambda: spheres(1000, 1.5, 0.5, 1e-4),
    "cube_20": lambda: cube(20, 50),
    "cube_40": lambda: cube(40, 20),
}


def run(label, program, name, directory, threads):
    case = MODELS[name]()
    arguments = []
    if "file" in case:
        path = case["file"]
        for pointer, value in case["set"].items():
            arguments += ["--set", f"{pointer}={json.dumps(value)}"]
        arguments += ["--set", f"/integrator/duration={case['duration']}", "--set", "/expect=[]"]
    else:
        path = os.path.join(directory, f"{name}.json")
        pathlib.Path(path).write_text(json.dumps(case))
    for key, value in QUIET.items():
        arguments += ["--set", f"/output/{key}={json.dumps(value)}"]
    out = os.path.join(directory, "out")
    command = [program, "run", path, "-q", "-o", out, "--threads", str(threads), *arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    text = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    try:
        s = json.loads(pathlib.Path(out, "summary.json").read_text())
    except (OSError, ValueError):
        print(f"{program}: {name}: {text.strip()[:400]}")
        return
    wall, linear = s["wall_seconds"], s["linear"]
    steps = max(1, s["steps"])
    parts = {k: v for k, v in wall.items() if k not in ("step", "total", "setup")}
    slowest = max(parts, key=parts.get) if parts else "-"
    iterations = "/".join(f"{v['mean']:.1f}" for v in s["iterations"].values() if isinstance(v, dict) and v.get("mean"))
    print(f"{label} {name:13s} {s['size']['equations']:6d} equations {steps:5d} steps {1e3 * wall['step'] / steps:9.3f} ms, {slowest} {1e3 * parts.get(slowest, 0) / steps:.3f};"
          f" iterations {iterations}; solves {linear.get('solves', 0)} cg {linear.get('cg_solves', 0)}"
          f" ({linear.get('cg_iterations', 0)} it) factorisations {linear.get('factorisations', 0)};"
          f" halved {s.get('subdivided_steps', 0)}; {usage.ru_maxrss / 1024:.0f} MB; exit {os.waitstatus_to_exitcode(status)}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("programs_and_names", nargs="+", help=f"names: {', '.join(MODELS)}")
    options = parser.parse_args()
    programs = [a for a in options.programs_and_names if a not in MODELS]
    names = [a for a in options.programs_and_names if a in MODELS] or list(MODELS)
    for label, program in enumerate(programs):
        print(label, program)
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            for label, program in enumerate(programs):
                run(label, program, name, directory, options.threads)


if __name__ == "__main__":
    main()
