#!/usr/bin/env python3
"""Runs the examples of docs/papers/pva18.md: writes its pictures and prints its tables.

    pva18.py PROGRAM OUTPUT_DIR [EXAMPLE...]     examples: pendulum bouncing beam bar; default: all

The results of each "carom run" go to OUTPUT_DIR/<example>/<run>. The pictures are docs/papers/pva18_*.svg; curves are without the
points that lie within a fifth of a pixel of the others. About two minutes on one core.
"""

import csv
import json
import math
import subprocess
import sys
from pathlib import Path

from make import MODELS, thinned

HERE = Path(__file__).resolve().parent
COLORS = {"P": "#d55e00", "V": "#009e73", "PV": "#cc79a7", "PVA": "#0072b2", "PVV": "#e69f00"}


def probes(*rows):
    return [dict(zip(("name", "of", "quantity"), row)) for row in rows]


def run(program, directory, model, integrator, output=(), values=()):
    """Summary and columns of probes.csv; a run that fails ends the script."""
    command = [program, "run", str(MODELS / f"{model}.json"), "-q", "-o", str(directory), "--set", "/expect=[]",
               "--set", f"/integrator={json.dumps(integrator)}", "--set", "/output/vtu/enabled=false",
               "--set", "/output/checkpoint/enabled=false", "--set", "/output/units=none", "--set", f"/output/probes={json.dumps(probes(*output))}"]
    for pointer, value in dict(values).items():
        command += ["--set", f"/{pointer}={json.dumps(value)}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    with open(directory / "probes.csv") as file:
        rows = csv.reader(file)
        names = next(rows)
        columns = dict(zip(names, map(list, zip(*[[float(x) for x in row] for row in rows]))))
    return json.loads((directory / "summary.json").read_text()), columns


# Pictures

def nice(low, high):
    """Values of an axis at even distances."""
    size = 10.0 ** math.floor(math.log10((high - low) / 3))
    step = next(s * size for s in (1, 2, 5, 10) if (high - low) / (s * size) <= 5)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


class Panel:
    """A diagram of one quantity over time: curves {label: (times, values)}; markers: points without a line."""

    def __init__(self, title, curves, x_range=None, y_range=None, markers=False):
        self.title, self.curves, self.markers = title, curves, markers
        inside = [(t, y) for ts, ys in curves.values() for t, y in zip(ts, ys)
                  if x_range is None or x_range[0] <= t <= x_range[1]]
        self.x_range = x_range or (min(t for t, _ in inside), max(t for t, _ in inside))
        low, high = y_range or (min(y for _, y in inside), max(y for _, y in inside))
        margin = 0.05 * (high - low) or 1.0
        self.y_range = (low - margin, high + margin)

    def svg(self, x0, y0, width, height, name):
        left, top, right, bottom = 62, 24, 20, 22
        w, h = width - left - right, height - top - bottom
        (x_low, x_high), (y_low, y_high) = self.x_range, self.y_range

        def at(t, y):
            return left + (t - x_low) / (x_high - x_low) * w, top + (y_high - y) / (y_high - y_low) * h

        out = [f"<g transform='translate({x0:.0f} {y0:.0f})'><text x='{left}' y='16'>{self.title}</text>",
               f"<clipPath id='{name}'><rect x='{left}' y='{top}' width='{w}' height='{h}'/></clipPath>"]
        for t in nice(x_low, x_high):
            x, _ = at(t, y_low)
            out.append(f"<line x1='{x:.1f}' y1='{top}' x2='{x:.1f}' y2='{top + h}' stroke='#ddd'/>"
                       f"<text x='{x:.1f}' y='{top + h + 16}' text-anchor='middle'>{t:g}</text>")
        for y in nice(y_low, y_high):
            _, place = at(x_low, y)
            out.append(f"<line x1='{left}' y1='{place:.1f}' x2='{left + w}' y2='{place:.1f}' stroke='#ddd'/>"
                       f"<text x='{left - 5}' y='{place + 4:.1f}' text-anchor='end'>{float(f'{y:.3g}'):g}</text>")
        out.append(f"<rect x='{left}' y='{top}' width='{w}' height='{h}' fill='none' stroke='#888'/>")
        out.append(f"<g clip-path='url(#{name})'>")
        for label, (ts, ys) in self.curves.items():
            color = COLORS[label]
            points = [at(t, y) for t, y in zip(ts, ys) if x_low - 0.05 * (x_high - x_low) <= t <= x_high + 0.05 * (x_high - x_low)]
            # far outside, as on paper
            points = [(x, min(max(y, top - 3 * h), top + 4 * h)) for x, y in points]
            if self.markers:
                out += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='1.8' fill='none' stroke='{color}'/>" for x, y in points
                        if top <= y <= top + h]
            else:
                line = "L".join(f"{x:.1f} {y:.1f}" for x, y in thinned(points, 0.2))
                out.append(f"<path d='M{line}' fill='none' stroke='{color}' stroke-width='1.4'/>")
        return "\n".join(out) + "</g></g>"


def picture(target, rows, labels):
    """Rows of panels, a legend above."""
    width, height = 1040, 190
    parts = []
    for i, label in enumerate(labels):
        parts.append(f"<line x1='{62 + 130 * i}' y1='14' x2='{92 + 130 * i}' y2='14' stroke='{COLORS[label]}' stroke-width='2.5'/>"
                     f"<text x='{98 + 130 * i}' y='18'>{label}</text>")
    for i, row in enumerate(rows):
        for k, panel in enumerate(row):
            parts.append(panel.svg(k * width / len(row), 24 + i * height, width / len(row), height, f"c{i}{k}"))
    total = 30 + height * len(rows)
    target.write_text(f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {total}' width='{width}' height='{total}' "
                      "font-family='DejaVu Sans, Helvetica, Arial, sans-serif' font-size='12' fill='#222'>\n"
                      f"<rect width='{width}' height='{total}' fill='white'/>\n" + "\n".join(parts) + "\n</svg>\n")
    print(f"{target.name}: {target.stat().st_size // 1000 + 1} kB")


# The rigid pendulum: m = 1, J = 0.1, L = 1, g = 10; g_1 = x - L cos(theta), g_2 = y - L sin(theta)

COORDINATES = [(f"{kind}_{c}", f"pendulum.{c}", quantity) for kind, quantity in
               (("q", "coordinate"), ("v", "coordinate_rate"), ("a", "coordinate_acceleration")) for c in ("x", "y", "theta")]


def hinge(c):
    """g_1 at position, velocity and acceleration level, and the larger of both rows' residuals of accelerations."""
    position, velocity, acceleration, largest = [], [], [], []
    for x, y, th, vx, vy, w, ax, ay, wd in zip(*[c[f"{k}_{n}"] for k in "qva" for n in ("x", "y", "theta")]):
        cos, sin = math.cos(th), math.sin(th)
        position.append(x - cos)
        velocity.append(vx + sin * w)
        acceleration.append(ax + sin * wd + cos * w * w)
        largest.append(max(abs(acceleration[-1]), abs(ay - cos * wd + sin * w * w)))
    return position, velocity, acceleration, largest


def smooth_multipliers(c):
    """lambda~ of the hinge's x row and of the hurdle, from M v~' = f + G^T lambda~."""
    joint, hurdle = [], []
    for th, ax, ay, wd in zip(c["q_theta"], c["a_x"], c["a_y"], c["a_theta"]):
        joint.append((0.1 * wd + math.cos(th) * (ay + 10)) / math.sin(th))
        hurdle.append(ax - joint[-1])
    return joint, hurdle


FORMULATIONS = {"P": "index_3", "V": "index_2", "PV": "ggl_modified", "PVA": "pva"}


def smooth(formulation, h, duration, start="consistent"):
    return {"type": "generalized_alpha", "formulation": formulation, "step": h, "duration": duration, "rho_infinity": 0.9,
            "initial_acceleration": start}


def pendulum(program, folder):
    print("\nSmooth pendulum, h = 2e-3: angle at 5 s; largest residuals of position, velocity, acceleration; acceleration for t < 0.1")
    results = {"consistent": {}, "zero": {}}
    for start, curves in results.items():
        for label, formulation in FORMULATIONS.items():
            _, c = run(program, folder / f"{label}_{start}", "pendulum_dae", smooth(formulation, 2e-3, 5, start), COORDINATES)
            levels = hinge(c)
            curves[label] = c["t"], levels, smooth_multipliers(c)[0]
            # at the ends of steps, of which the start is none
            first = max(a for t, a in zip(c["t"][1:], levels[3][1:]) if t < 0.1 - 1e-9)
            print(f"  {label:4} {start:10} {c['q_theta'][-1]:.8f}  " + "  ".join(f"{max(map(abs, x)):.2e}" for x in levels[:2])
                  + f"  {max(levels[3][1:]):.2e}  {first:.3g}")
    print("Largest acceleration residual for t < 0.1 and fitted order, a_0 = v'(0) and a_0 = v'((alpha_m - alpha_f) h)")
    steps = (2e-3, 1e-3, 5e-4, 2.5e-4)
    for label in ("P", "V", "PV"):
        for start in ("consistent", "shifted"):
            sizes = []
            for h in steps:
                _, c = run(program, folder / f"{label}_{start}_{h}", "pendulum_dae", smooth(FORMULATIONS[label], h, 0.1, start),
                           COORDINATES)
                sizes.append(max(hinge(c)[3]))
            order = math.log(sizes[0] / sizes[-1]) / math.log(steps[0] / steps[-1])
            print(f"  {label:3} {start:10} " + "  ".join(f"{s:.3g}" for s in sizes) + f"  order {order:.2f}")

    def curves(start, level, but=()):
        return {label: (t, levels[level]) for label, (t, levels, _) in results[start].items() if label not in but}

    rows = [[Panel("g_1, m", curves("consistent", 0)), Panel("g_1, m, start", curves("consistent", 0), (0, 0.1))],
            [Panel("g_1', m/s", curves("consistent", 1)), Panel("g_1', m/s, start", curves("consistent", 1), (0, 0.1), markers=True)],
            [Panel("g_1'', m/s²", curves("consistent", 2)),
             Panel("g_1'', m/s², start (P: beyond)", curves("consistent", 2, ("P",)), (0, 0.1), markers=True)]]
    picture(HERE / "pva18_pendulum.svg", rows, FORMULATIONS)
    multipliers = {label: (t, m) for label, (t, _, m) in results["zero"].items()}
    rows = [[Panel("g_1'', m/s²", curves("zero", 2)), Panel("g_1'', m/s², start", curves("zero", 2), (0, 0.1), markers=True)],
            [Panel("multiplier of g_1, N", multipliers, y_range=(-150, 150)),
             Panel("multiplier of g_1, N, start", multipliers, (0, 0.1), y_range=(-150, 50), markers=True)]]
    picture(HERE / "pva18_disturbed.svg", rows, FORMULATIONS)


NONSMOOTH = {"PVV": "nsga_coupled", "PVA": "nsga_pva"}


def relative_impulse(c, h, rho):
    """Lam of the hurdle in PVA: Lam* less the integral of eta, which follows from lambda~ ([PVA18] eqs. 65m-o)."""
    alpha_m, alpha_f = (2 * rho - 1) / (rho + 1), rho / (rho + 1)
    gamma = 0.5 + alpha_f - alpha_m
    smooth_force, eta, out = smooth_multipliers(c)[1], 0.0, [0.0]
    for before, now, force in zip(smooth_force, smooth_force[1:], c["force"][1:]):
        new = ((1 - alpha_f) * now + alpha_f * before - alpha_m * eta) / (1 - alpha_m)
        out.append(h * (force - (1 - gamma) * eta - gamma * new))
        eta = new
    return out


def bouncing(program, folder):
    h = 1e-3
    output = [*COORDINATES, ("gap", "pendulum.hurdle", "gap"), ("gap_velocity", "pendulum.hurdle", "gap_velocity"),
              ("force", "pendulum.hurdle", "contact_force"), ("reaction", "pendulum.hinge_x", "constraint_multiplier")]
    results = {}
    print("\nBouncing pendulum, h = 1e-3: impacts, last opening; forces at rest of hinge and hurdle, of which lambda~ and Lam/h; "
          "smallest Lam; acceleration residual in the twenty steps after the first impact and in the last second")
    for rho in (0.9, 1.0):
        for label, method in NONSMOOTH.items():
            summary, c = run(program, folder / f"{label}_{rho}", "pendulum_bouncing",
                             {"type": method, "mixing": "none", "step": h, "duration": 4, "rho_infinity": rho}, output)
            levels = hinge(c)
            joint, hurdle = smooth_multipliers(c)
            impulse = [h * f for f in c["force"]] if label == "PVV" else relative_impulse(c, h, rho)
            results[label, rho] = c, levels, joint, impulse
            opened = max(t for t, g in zip(c["t"], c["gap"]) if g > 1e-9)
            after = max(a for t, a in zip(c["t"], levels[3]) if 0.4875 < t < 0.5075)
            late = max(a for t, a in zip(c["t"], levels[3]) if t > 3)
            print(f"  {label} rho {rho}: {summary['impacts']} impacts, open until {opened:.3f}; hinge {c['reaction'][-1]:.9f} = "
                  f"{joint[-1]:.6f} + ..., hurdle {c['force'][-1]:.9f} = {hurdle[-1]:.6f} + {impulse[-1] / h:.6f}; "
                  f"smallest Lam {min(impulse):.3g}; {after:.3g}, {late:.3g}; set fallbacks {summary.get('set_fallbacks', 0)}")

    def curve(rho, column):
        return {label: (results[label, rho][0]["t"], column(results[label, rho])) for label in NONSMOOTH}

    first = (0.47, 0.55)
    rows = [[Panel("gap, m", curve(0.9, lambda r: r[0]["gap"])), Panel("gap velocity, m/s", curve(0.9, lambda r: r[0]["gap_velocity"]))],
            [Panel("g_1'', m/s²", curve(0.9, lambda r: r[1][2])),
             Panel("g_1'', m/s², first impact", curve(0.9, lambda r: r[1][2]), first)],
            [Panel("multiplier of g_1 in the smooth motion, N", curve(0.9, lambda r: r[2])),
             Panel("the same, first impact", curve(0.9, lambda r: r[2]), first)],
            [Panel("impulse Λ of the hurdle, N s", curve(0.9, lambda r: r[3])),
             Panel("the same, coming to rest", curve(0.9, lambda r: r[3]), (2.0, 2.6), (-0.02, 0.12))],
            [Panel("multiplier of g_1 in the smooth motion, ρ = 1, N", curve(1.0, lambda r: r[2])),
             Panel("the same, first impact", curve(1.0, lambda r: r[2]), first)]]
    picture(HERE / "pva18_bouncing.svg", rows, NONSMOOTH)


def beam(program, folder):
    output = [("tip", "arm.end", "position.x"), ("gap", "wall", "gap"), ("gap_velocity", "wall", "gap_velocity"),
              ("acceleration", "arm.end", "acceleration.x"), ("impulse", "wall", "contact_impulse")]
    results = {}
    print("\nFlexible pendulum, h = 5e-6: iterations, halved steps; first phase, impulse; energy at 0.36 and 0.5, largest rise")
    for label, method in NONSMOOTH.items():
        summary, c = run(program, folder / label, "pendulum_beam_pva18",
                         {"type": method, "mixing": "none", "step": 5e-6, "duration": 0.5, "rho_infinity": 0.8}, output,
                         {"output/energy": {"every": 1}, "output/probes_every": 1})
        with open(folder / label / "energy.csv") as file:
            rows = list(csv.DictReader(file))
        total = [float(r["total"]) if "total" in r else sum(float(r[k]) for k in ("kinetic", "elastic", "potential")) for r in rows]
        times = [float(r["t"]) for r in rows]
        results[label] = c, times, total
        touching = [abs(g) < 1e-9 for g in c["gap"]]
        closed = [(t, i) for t, i, touches in zip(c["t"], c["impulse"], touching) if touches and t < 0.36]
        steps_at_rest = sum(1 for touches, a in zip(touching, c["acceleration"]) if touches and abs(a) < 1e-6)
        parts = ", ".join(f"{name} {x['mean']:.3f} ({x['max']})" for name, x in summary["iterations"].items())
        at = {t: e for t, e in zip(times, total)}
        at_036 = min(at.items(), key=lambda item: abs(item[0] - 0.36))[1]
        print(f"  {label}: {parts}; halved {summary['subdivided_steps']}, fallbacks {summary.get('set_fallbacks', 0)}; "
              f"[{closed[0][0]:.6f}, {closed[-1][0]:.6f}], {len(closed)} of {round((closed[-1][0] - closed[0][0]) / 5e-6)} steps, "
              f"{sum(i for _, i in closed):.4f} N s; energy {at_036:.4f}, {total[-1]:.4f}, rise "
              f"{max(b - a for a, b in zip(total, total[1:])):.2g}; closed steps with g'' = 0: {steps_at_rest}")

    def curve(name):
        return {label: (c["t"], c[name]) for label, (c, _, _) in results.items()}

    phase = (0.325, 0.351)
    energy = {label: (t, e) for label, (_, t, e) in results.items()}
    rows = [[Panel("gap, m", curve("gap")), Panel("gap, m, first phase", curve("gap"), phase)],
            [Panel("gap velocity, m/s", curve("gap_velocity")), Panel("gap velocity, m/s, first phase", curve("gap_velocity"), phase)],
            [Panel("impulse of a step, N s", curve("impulse")), Panel("impulse of a step, N s, first phase", curve("impulse"), phase)],
            [Panel("energy, J", energy), Panel("energy, J, first phase", energy, phase)]]
    picture(HERE / "pva18_beam.svg", rows, NONSMOOTH)


def bar(program, folder):
    output = [("gap", "wall", "gap"), ("force", "wall", "contact_force"), ("v_tip", "bar.end", "velocity.x"),
              ("v_start", "bar.start", "velocity.x")]
    results = {}
    print("\nElastic bar, h = 2e-3, T = 2.5: smooth iterations mean and most, mean while closed; closed from and to; energy")
    for mass in ("consistent", "lumped"):
        for tolerance in (1e-10, 1e-4):
            for label, method in NONSMOOTH.items():
                integrator = {"type": method, "mixing": "none", "step": 2e-3, "duration": 2.5, "rho_infinity": 0.8,
                              "newton": {"tolerance": tolerance, "constraint_tolerance": tolerance}}
                summary, c = run(program, folder / f"{label}_{mass}_{tolerance}", "elastic_bar", integrator, output,
                                 {"parameters/distance": 5.005, "bodies/0/mass": mass})
                closed = [t for t, g in zip(c["t"], c["gap"]) if abs(g) < 1e-9]
                steps = summary["iterations"]["smooth"]
                e = summary["energy"]["final"]
                print(f"  {label} {mass} {tolerance:g}: {steps['mean']:.2f} ({steps['max']}); closed {closed[0]:.3f} to {closed[-1]:.3f}; "
                      f"energy {e if isinstance(e, float) else sum(e.values()):.4f}; halved {summary['subdivided_steps']}, "
                      f"fallbacks {summary.get('set_fallbacks', 0)}")
                if mass == "consistent" and tolerance < 1e-9:
                    results[label] = c

    def curve(name):
        return {label: (c["t"], c[name]) for label, c in results.items()}

    rows = [[Panel("gap, m", curve("gap"), (0, 1.6)), Panel("force of the wall, N", curve("force"), (0.4, 1.3))],
            [Panel("velocity of the tip, m/s", curve("v_tip"), (0.4, 1.3)),
             Panel("velocity of the free end, m/s", curve("v_start"), (0.4, 1.3))]]
    picture(HERE / "pva18_bar.svg", rows, NONSMOOTH)


EXAMPLES = {"pendulum": pendulum, "bouncing": bouncing, "beam": beam, "bar": bar}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    wanted = sys.argv[3:] or list(EXAMPLES)
    if unknown := [name for name in wanted if name not in EXAMPLES]:
        sys.exit(f"error: no example {', '.join(unknown)}; there are {', '.join(EXAMPLES)}")
    for name in wanted:
        EXAMPLES[name](sys.argv[1], Path(sys.argv[2]) / name)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
