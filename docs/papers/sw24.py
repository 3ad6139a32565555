#!/usr/bin/env python3
"""Runs the studies of docs/papers/sw24.md, writes their tables into that page and their pictures beside it.

    sw24.py PROGRAM OUTPUT_DIR [CASE...]      cases: track gradients surfaces machines; default: all

A table stands between the lines "<!-- NAME -->" and "<!-- end -->" of the page. The results of each run go to OUTPUT_DIR/CASE.
About half a minute on one core.
"""

import csv
import functools
import json
import math
import subprocess
import sys
from pathlib import Path

import page

HERE = Path(__file__).resolve().parent
PAGE = page.Page(HERE / "sw24.md")
table = PAGE.table
MODELS = HERE.parents[1] / "data" / "models"
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#888888", "#e69f00"]
GRADIENTS = [1, 0.9, 0.7, 0.5]
RATES = [{"name": f"{x}_rate", "of": f"mass.{x}", "quantity": "coordinate_rate"} for x in "xy"]
TRACK = [*({"name": x, "of": f"mass.{x}", "quantity": "coordinate"} for x in "xy"), *RATES,
         *({"name": f"{x}_acceleration", "of": f"mass.{x}", "quantity": "coordinate_acceleration"} for x in "xy"),
         {"name": "energy", "quantity": "energy.kinetic"},
         {"name": "g", "of": "mass.switching.1", "quantity": "constraint_value"}]


class Run:
    """Columns of probes.csv, rows of events.csv, and the reason of a failure if there is one."""

    def __init__(self, program, out, model, integrator=None, values=None, probes=None):
        command = [program, "run", str(MODELS / f"{model}.json"), "-q", "-o", str(out), "--set", "/expect=[]",
                   "--set", "/output/vtu/enabled=false", "--set", "/output/checkpoint/enabled=false", "--set", "/output/units=none",
                   "--set", '/output/energy={"every": 1}']
        for pointer, value in {"output/probes": probes, "integrator": integrator}.items():
            if value is not None:
                command += ["--set", f"/{pointer}={json.dumps(value)}"]
        for pointer, value in (values or {}).items():
            command += ["--set", f"/{pointer}={json.dumps(value)}"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode not in (0, 4):
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        self.failure = "" if done.returncode == 0 else done.stderr.splitlines()[0]
        with (out / "probes.csv").open() as file:
            rows = list(csv.reader(file))
        self.columns = {name: [float(row[i]) for row in rows[1:]] for i, name in enumerate(rows[0])}
        with (out / "events.csv").open() as file:
            self.events = [row for row in csv.DictReader(file) if row["event"] == "switch"]
        with (out / "energy.csv").open() as file:
            self.energies = [{name: float(x) for name, x in row.items()} for row in csv.DictReader(file)]

    def __getitem__(self, name):
        return self.columns[name]

    def after(self, name, t):
        return [x for x, time in zip(self[name], self["t"]) if time > t]


class Runner:
    def __init__(self, program, directory):
        self.program, self.directory, self.count = program, directory, 0

    def __call__(self, model, *args, **keys):
        self.count += 1
        return Run(self.program, self.directory / f"{model}_{self.count}", model, *args, **keys)


def straight(points, width, height):
    (xa, ya), (xb, yb), (xc, yc) = points
    return xc > xa and abs(yb - ya - (yc - ya) * (xb - xa) / (xc - xa)) < 1e-4 * height and xc - xa < 0.01 * width


def kept(curve, width, height):
    """The first and the last point of every stretch of a straight line."""
    return [p for j, p in enumerate(curve)
            if j in (0, len(curve) - 1) or not straight(curve[j - 1:j + 2], width, height)]


plot = functools.partial(page.plot, colors=COLORS, label_width=125, height=260, kept=kept)


def ratio(E, c):
    return ((1 - E) + E * c) / ((1 - E) * c + E)


# ---- the track

START = {"bodies/0/coordinates/0/position": -3}
FORMULATIONS = {"index 3": {"type": "generalized_alpha", "formulation": "index_3"},
                "index 2": {"type": "generalized_alpha", "formulation": "index_2"},
                "index 1": {"type": "generalized_alpha", "formulation": "index_1"},
                "event-driven": {"type": "event_driven"},
                "nonsmooth": {"type": "nsga_decoupled"}}


def on_track(keys, **more):
    return {**keys, "rho_infinity": 0.98, "step": 2e-3, "duration": 6, **more}


def switch_of(run):
    return float(run.events[0]["t"]) if run.events else 3.0


def track(runner):
    rows, places, speeds, energies = [], {}, {}, {}
    for label, keys in FORMULATIONS.items():
        more = {} if keys["type"] == "generalized_alpha" else {"intermediate_gradient": 1}
        run = runner("track", on_track(keys, **more), START, TRACK)
        t = switch_of(run)
        rates = [b - a for a, b in zip(run.after("x_rate", t), run.after("y_rate", t))]
        late = [(b - a) for a, b in zip(run.after("x_rate", 5), run.after("y_rate", 5))]
        swing = max(run.after("y_rate", t)) - min(run.after("y_rate", t))
        gaps = [abs(b - max(a, 0.0)) for a, b in zip(run["x"], run["y"])]
        rows.append([label, f"{run['energy'][-1]:.7g}", f"{max(gaps):.1e}", f"{gaps[-1]:.1e}", f"{max(map(abs, rates)):.2g}",
                     f"{max(map(abs, late)):.1e}", f"{swing:.3g}",
                     f"{max(map(abs, run.after('y_acceleration', t + 0.01))):.3g}"])
        places[label] = list(zip(run["x"], run["y"]))
        speeds[label] = [p for p in zip(run["t"], run["y_rate"]) if 2.9 < p[0] < 3.4]
        energies[label] = list(zip(run["t"], run["energy"]))
    table("track", ["method", "kinetic energy at 6 s", "largest error of g", "at the end", "largest error of g' behind the corner",
                    "behind 5 s", "range of y' behind the corner", "largest y'' from 0.01 s behind the corner on"], rows)
    plot(HERE / "sw24_track.svg", [("y over x", places), ("y' around the corner", speeds), ("kinetic energy", energies)])


def gradients(runner):
    methods = {"index 2": {"type": "generalized_alpha", "formulation": "index_2"},
               "index 2, steps not halved": {"type": "generalized_alpha", "formulation": "index_2", "max_subdivisions": 0},
               "index 2, fully implicit": {"type": "generalized_alpha", "formulation": "index_2", "fully_implicit": True},
               "event-driven": {"type": "event_driven"}, "nonsmooth": {"type": "nsga_decoupled"}}
    rows = []
    for label, keys in methods.items():
        cells = []
        for E in GRADIENTS:
            run = runner("track", on_track(keys, intermediate_gradient=E), START, TRACK)
            largest = max(run.after("energy", switch_of(run)))
            more = f", at most {largest:.4g}" if largest > run["energy"][-1] * (1 + 1e-6) else ""
            cells.append("refused: the energy grows without cause" if "energy grows" in run.failure
                         else f"refused: {run.failure}" if run.failure else f"{run['energy'][-1]:.7g}{more}")
        rows.append([label, *cells])
    rows.append(["closed form", *(f"{0.5 * ratio(E, math.sqrt(0.5)) ** 2:.7g}" for E in GRADIENTS)])
    table("gradients", ["kinetic energy at 6 s", *(f"E = {E}" for E in GRADIENTS)], rows)


def surfaces(runner):
    slope = math.tan(math.pi / 8)
    rows = []
    for label, z in (("x - l", "x"), ("-y + tan(pi/8)(x - l)", f"-y + {slope!r}*x")):
        for E in (1, 0.59, 0.585, 0.55, 0.5, 0.42):
            values = {**START, "bodies/0/switching/0/condition": f"-({z})", "bodies/0/switching/1/condition": z}
            run = runner("track", on_track({"type": "nsga_decoupled"}, intermediate_gradient=E), values, TRACK)
            c = math.sqrt(0.5) if z == "x" else -math.sqrt(0.5)
            result = (f"x = {run['x'][-1]:.6f}, y = {run['y'][-1]:.6f}, energy {run['energy'][-1]:.7g}" if not run.failure
                      else "no continuation")
            exact = f"{0.5 * ratio(E, c) ** 2:.7g}" if -c / (1 - c) < E < 1 / (1 - c) or c > 0 else "none"
            rows.append([label, f"{E}", result, exact])
    table("surfaces", ["z", "E", "at 6 s", "energy of the closed form"], rows)


# ---- the machines

def machines(runner):
    rows = []
    for model, label, values in (("braiding", "braiding, equal gears", {}), ("braiding", "braiding, half radius", {"parameters/r_H": 1}),
                                 ("pothole", "pothole", {}), ("cam", "cam", {})):
        for E in GRADIENTS:
            run = runner(model, None, {**values, "integrator/intermediate_gradient": E})
            # ends of the steps around a switch
            for event in run.events[:4]:
                t, c, change = float(event["t"]), float(event["cosine"]), float(event["kinetic_energy_change"])
                if abs(1 - c) < 1e-3:
                    continue  # modes that join smoothly
                before = [e for e in run.energies if e["t"] < t][-1]
                expected = before["kinetic"] * (ratio(E, c) ** 2 - 1)
                end = run.energies[-1]
                rows.append([label, f"{E}", f"{event['mode_before']} to {event['mode']}", f"{t:.6f}", f"{c:.6f}", f"{change:.6g}",
                             f"{expected:.6g}", f"{end['switch_correction']:.2g}"])
    table("machines", ["model", "E", "switch", "time", "cosine", "jump of the kinetic energy",
                       "T (r^2 - 1)", "position corrections of all switches"], rows)


def smooth_motion(runner):
    rows = []
    for label, keys in (("with the rows of the present mode", {}), ("as published", {"integrator/smooth_switching_rows": False})):
        for h in (2e-3, 1e-3, 5e-4):
            cells = []
            for E in GRADIENTS:
                run = runner("braiding", None, {**keys, "integrator/step": h, "integrator/intermediate_gradient": E})
                cells.append(f"{run['energy'][-1]:.7g}")
            rows.append([label, f"{h:g}", *cells])
    table("smooth", ["smooth motion", "h", *(f"E = {E}" for E in GRADIENTS)], rows)


CASES = {"track": track, "gradients": gradients, "surfaces": surfaces, "machines": machines, "smooth": smooth_motion}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, output, wanted = sys.argv[1], Path(sys.argv[2]), sys.argv[3:] or list(CASES)
    if unknown := [name for name in wanted if name not in CASES]:
        sys.exit(f"error: no case {', '.join(unknown)}; there are {', '.join(CASES)}")
    for name in wanted:
        CASES[name](Runner(program, output / name))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
