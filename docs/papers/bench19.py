#!/usr/bin/env python3
"""Runs the studies of docs/papers/bench19.md and writes their tables into that page and their pictures beside it.

    bench19.py PROGRAM OUTPUT_DIR [CASE...]      cases: ball oscillator spring bar arch; default: all

A table stands between the lines "<!-- NAME -->" and "<!-- end -->" of the page. The results of each run go to OUTPUT_DIR/CASE.
About a minute on one core; the oscillator's errors take most of that.
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
PAGE = page.Page(HERE / "bench19.md")
table = PAGE.table
MODELS = HERE.parents[1] / "data" / "models"
GRAVITY = 9.81
STEPS = [1e-1, 1e-2, 1e-3, 1e-4]
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#888888"]


class Runner:
    def __init__(self, program, directory):
        self.program, self.directory, self.count = program, directory, 0

    def run(self, model, integrator, values=None, allowed=(0,)):
        """The columns of probes.csv and the summary of a run."""
        self.count += 1
        out = self.directory / f"{model}_{self.count}"
        command = [self.program, "run", str(MODELS / f"{model}.json"), "-q", "-o", str(out), "--set", "/expect=[]",
                   "--set", "/output/vtu/enabled=false", "--set", "/output/checkpoint/enabled=false", "--set", "/output/units=none",
                   "--set", f"/integrator={json.dumps(integrator)}"]
        for pointer, value in (values or {}).items():
            command += ["--set", f"/{pointer}={json.dumps(value)}"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode not in allowed:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        if done.returncode == 3:
            return None, done.stderr
        with (out / "probes.csv").open() as file:
            rows = list(csv.reader(file))
        columns = {name: [float(row[i]) for row in rows[1:] if row[i]] for i, name in enumerate(rows[0])}
        return columns, json.loads((out / "summary.json").read_text())


def method(name, step, duration, **keys):
    published = {"impact": "published"} if name == "nsga_decoupled" else {}
    return {"type": name, "step": step, "duration": duration, **published, **keys}


def norm(times, values, reference, coarse):
    """Equation (35) of the paper: over the times of the largest step."""
    error = size = 0.0
    for t, x in zip(times, values):
        if abs(t / coarse - round(t / coarse)) > 1e-6 or t == 0:
            continue
        exact = reference(t)
        error += abs(x - exact)
        size += abs(exact)
    return error / size


def orders(errors):
    """Between neighbouring steps that are a factor of ten apart."""
    return ", ".join(f"{math.log10(a / b):.2f}" if a > 1e-13 and b > 1e-13 else "-" for a, b in zip(errors, errors[1:]))


def kept(curve, *_):
    return curve[::max(1, len(curve) // 1500)]


plot = functools.partial(page.plot, colors=COLORS, label_width=150, height=300, kept=kept)


# ---- the bouncing ball

BALL_METHODS = {"carpenter": "carpenter", "paoli_schatzman": "paoli_schatzman", "cd_lagrange": "cd_lagrange",
                "moreau_jean": "moreau_jean", "nsga_decoupled": "nsga_decoupled"}


def ball_height(t, e):
    flight, start = math.sqrt(2 / GRAVITY), -math.sqrt(2 / GRAVITY)
    speed = GRAVITY * flight
    while t >= start + 2 * flight:
        start += 2 * flight
        flight *= e
        speed *= e
        if flight < 1e-12:
            return 0.0
    return speed * (t - start) - GRAVITY / 2 * (t - start) ** 2


def apexes(times, heights):
    return [heights[i] for i in range(1, len(heights) - 1)
            if heights[i] >= heights[i - 1] and heights[i] > heights[i + 1] and heights[i] > 1e-3 and times[i] > 0]


def ball(runner):
    probes = {"output/probes": [{"name": "z", "of": "ball", "quantity": "position.z"},
                                {"name": "gap", "of": "floor", "quantity": "gap"}]}

    def run(name, step, duration, e, **keys):
        return runner.run("bouncing_ball", method(name, step, duration, **keys), {**probes, "parameters/restitution": e}, (0, 4))

    rows, curves = [], {1: {}, 0.8: {}, 0: {}}
    for name in BALL_METHODS:
        row = [f"`{name}`"]
        for e in (0, 0.8, 1):
            if name == "carpenter" and e > 0:
                row.append("refused")
                continue
            columns, _ = run(name, 1e-2, 5, e)
            curves[e][name] = list(zip(columns["t"], columns["z"]))
            tops = apexes(columns["t"], columns["z"])
            deepest = f"{-min(columns['z']):.3g}" if min(columns["z"]) < -1e-12 else "0"
            row.append((f"apexes {', '.join(f'{z:.6g}' for z in tops[:3])}; " if e > 0 else "") + f"penetration {deepest}")
        rows.append(row)
    columns, summary = run("carpenter", 1e-2, 5, 0, implicit=True)
    after = [z for t, z in zip(columns["t"], columns["z"]) if t > 0.46]
    _, whole = run("carpenter", 1e-2, 5, 0, implicit=True, max_subdivisions=0)
    rows.append(["`carpenter`, implicit", f"bounces to {max(after):.3g} in {summary['subdivided_steps']} halved steps; without "
                 f"halving: {whole['status']} at {whole['time']['end']:.3g} s, {whole['failure']['reason']}", "refused", "refused"])
    table("ball", ["h = 1e-2", "e = 0", "e = 0.8", "e = 1"], rows)
    plot(HERE / "bench19_ball.svg", [(f"height, e = {e:g}, h = 1e-2", {k: v for k, v in curves[e].items()})
                                     for e in (1, 0.8, 0)], height=230)

    rows = []
    for name in ("paoli_schatzman", "cd_lagrange", "moreau_jean", "nsga_decoupled"):
        for words, duration, e in (("without impact, T = 0.4", 0.4, 0.8), ("with impacts, T = 2, e = 0.8", 2, 0.8)):
            errors = []
            for step in STEPS:
                columns, _ = run(name, step, duration, e)
                errors.append(norm(columns["t"], columns["z"], lambda t, e=e: ball_height(t, e), STEPS[0]))
            rows.append([f"`{name}`", words, *(f"{x:.2e}" for x in errors), orders(errors)])
    table("ball_errors", ["method", "case", *(f"h = {h:g}" for h in STEPS), "orders"], rows)


# ---- Van der Pol

def oscillator(runner):
    probes = {"output/probes": [{"name": "x", "of": "oscillator.x", "quantity": "coordinate"},
                                {"name": "v", "of": "oscillator.x", "quantity": "coordinate_rate"}]}
    steps, fine = [1e-2, 1e-3, 1e-4], 1e-5

    def run(name, step, duration, wall, every=1, **keys):
        return runner.run("van_der_pol", method(name, step, duration, **keys),
                          {**probes, "parameters/wall": wall, "output/probes_every": every})[0]

    rows = []
    for words, wall, duration in (("without impact, T = 2", -10, 2), ("with impacts, T = 10", -1, 10)):
        reference = run("moreau_jean", fine, duration, wall, round(steps[0] / fine))
        exact = dict(zip((round(t / steps[0]) for t in reference["t"]), reference["x"]))
        for name, keys in (("cd_lagrange", {}), ("paoli_schatzman", {}), ("moreau_jean", {}), ("nsga_decoupled", {})):
            errors = []
            for step in steps:
                columns = run(name, step, duration, wall, round(steps[0] / step), **keys)
                errors.append(norm(columns["t"], columns["x"], lambda t: exact[round(t / steps[0])], steps[0]))
            rows.append([f"`{name}`", words, *(f"{x:.2e}" for x in errors), orders(errors)])
    table("oscillator_errors", ["method", "case", *(f"h = {h:g}" for h in steps), "orders"], rows)

    rows, curves = [], {}
    for name in ("cd_lagrange", "moreau_jean", "nsga_decoupled"):
        columns = run(name, 1e-3, 320, -1)
        t, x, v = columns["t"], columns["x"], columns["v"]
        impacts = [i for i in range(1, len(x)) if v[i - 1] < -1 and v[i] > 0.2]
        period = (t[impacts[41]] - t[impacts[1]]) / 40
        rows.append([f"`{name}`", f"{period:.5f}", f"{v[impacts[20] - 1]:.4f}"])
        curves[name] = [(t[i], x[i]) for i in range(len(t)) if t[i] < 30]
    rows.append(["continuous problem", "7.46432", "-7.6363"])
    table("oscillator", ["method", "period over 40 cycles, s", "velocity before an impact, m/s"], rows)
    plot(HERE / "bench19_oscillator.svg", [("Van der Pol oscillator with a wall, h = 1e-3: x", curves)])


# ---- the rotating spring

def spring(runner):
    rows, curves = [], {}
    for label, name, keys in (("cd_lagrange", "cd_lagrange", {}), ("paoli_schatzman", "paoli_schatzman", {}),
                              ("moreau_jean, theta = 0.5", "moreau_jean", {}),
                              ("moreau_jean, theta = 0.51", "moreau_jean", {"theta": 0.51}),
                              ("nsga_decoupled", "nsga_decoupled", {})):
        columns, _ = runner.run("rotating_spring", method(name, 0.1, 100, **keys))
        momentum = columns["angular_momentum"]
        rows.append([label, f"{momentum[-1]:.6g}", f"{min(momentum):.6g}", f"{max(momentum):.6g}",
                     f"{max(abs(x - 1.6) for x in momentum):.2g}"])
        curves[label] = list(zip(columns["t"], momentum))
    table("spring", ["h = 0.1", "angular momentum at 100 s", "smallest", "largest", "largest error (1.6)"], rows)
    plot(HERE / "bench19_spring.svg", [("angular momentum, h = 0.1", curves)])


# ---- the impacting bar

def bar(runner):
    h, v_0, momentum, duration = 6.87e-7, 5.136, 7847 * 6.45e-4 * 0.254 * 5.136, 9.81987e-5
    rows, velocities, impulses = [], {}, {}
    for label, name, keys, mass in (("cd_lagrange", "cd_lagrange", {}, "lumped"),
                                    ("cd_lagrange, rho_b = 0.8", "cd_lagrange", {"rho_bifurcation": 0.8}, "lumped"),
                                    ("cd_lagrange, rho_b = 0.5", "cd_lagrange", {"rho_bifurcation": 0.5}, "lumped"),
                                    ("cd_lagrange, rho_b = 0.4", "cd_lagrange", {"rho_bifurcation": 0.4}, "lumped"),
                                    ("carpenter", "carpenter", {}, "lumped"),
                                    ("moreau_jean", "moreau_jean", {}, "lumped"),
                                    ("moreau_jean, consistent", "moreau_jean", {}, "consistent"),
                                    ("nsga_decoupled", "nsga_decoupled", {}, "lumped"),
                                    ("nsga_decoupled, consistent", "nsga_decoupled", {}, "consistent")):
        columns, _ = runner.run("impacting_bar", method(name, h, 2e-4, **keys), {"bodies/0/mass": mass})
        t, r, v = columns["t"], columns["impulse"], columns["v_tip"]
        force = [f * h for f in columns["force"]]
        closed = [i for i in range(len(t)) if force[i] > 0]
        after = [v[i] for i in range(len(t)) if 1.08e-4 < t[i] < 1.9e-4]
        total = sum(force)
        rms = math.sqrt(sum((x + v_0) ** 2 for x in after) / len(after)) / v_0
        rows.append([label, str(len(closed)), f"{t[closed[-1]] - t[closed[0]] + h:.4g}", f"{total / duration:.6g}",
                     f"{total / (2 * momentum):.4f}", f"{max(0.0, -min(columns['gap'])) / (h * v_0) + 0.0:.3g}", f"{rms:.4f}",
                     f"{abs(columns['momentum.x'][-1] - columns['momentum.x'][0] + total) / momentum:.0e}"])
        if label in ("cd_lagrange", "cd_lagrange, rho_b = 0.4", "moreau_jean"):
            velocities[label] = list(zip(t, v))
            impulses[label] = list(zip(t, force))
    rows.append(["closed form", "142.9", f"{duration:g}", "134476", "1", "-", "0", "0"])
    table("bar", ["method", "closed steps", "contact, s", "impulse over 2L/c, N", "impulse over 2 m v_0", "penetration over h v_0",
                  "rms of the tip after the release over v_0", "momentum balance"], rows)
    plot(HERE / "bench19_bar.svg", [("velocity of the contact node, m/s", velocities), ("impulse of a step, N s", impulses)])


# ---- the arch

HEIGHTS = [-0.02109809, -0.04175661, -0.05684501, -0.06398352, -0.065]
REACTION = 9.29525e-5


def arch(runner):
    rows, curves = [], {}
    for mass, step in ((2, 1.0), (50, 5.0), (2, 0.1), (2, 0.01)):
        columns, summary = runner.run("arch", method("cd_lagrange", step, 40000), {"parameters/m": mass})
        ends = [columns[f"y{i}"][-1] for i in range(1, 11)]
        error = max(abs(ends[i] - HEIGHTS[i]) for i in range(5))
        reaction = columns["reaction_5"][-1] + columns["reaction_6"][-1]
        rows.append([f"{mass:g}", f"{step:g}", str(summary["steps"]), summary.get("ended_by", {}).get("criterion", "end"),
                     f"{-(min(ends) + 0.065):.2g}", f"{error:.1e}", f"{reaction:.6g}"])
        curves[f"m = {mass:g}, h = {step:g}"] = list(zip(columns["t"], columns["y5"]))
    rows.append(["statics", "-", "-", "-", "0", "0", f"{REACTION:.6g}"])
    table("arch", ["mass of a node", "step", "steps", "ended by", "penetration", "largest error of a height", "reaction"], rows)
    plot(HERE / "bench19_arch.svg", [("height of the fifth node", curves)])


CASES = {"ball": ball, "oscillator": oscillator, "spring": spring, "bar": bar, "arch": arch}


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
