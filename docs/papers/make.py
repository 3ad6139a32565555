#!/usr/bin/env python3
"""Runs the studies of docs/papers/ds20.md and docs/methods/choosing.md: writes their pictures and prints their tables.

    make.py PROGRAM OUTPUT_DIR [EXAMPLE...]      examples: brick bar pendulum cube; default: all

The results of each "carom compare" go to OUTPUT_DIR/<study>. The pictures, docs/papers/ds20_*.svg and
docs/methods/choosing_*.svg, consist of probes.svg, errors.svg and work.svg of these results, which gnuplot draws; curves are without
the points that lie within a fifth of a pixel of the others. ds20_iterations.svg needs a run of all examples. Two to five minutes
on one core.
"""

import json
import math
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
METHODS_PAGE = HERE.parent / "methods"
MODELS = HERE.parents[1] / "data" / "models"

# impacts at the end of their step and plain sweeps, as in the paper
PAPER_METHODS = ["DS=nsga_decoupled:impact=published", "DSn=nsga_decoupled:impact=published:force_corrections=false",
                 "CS=nsga_coupled:mixing=none"]
CURVE_METHODS = [PAPER_METHODS[0], PAPER_METHODS[2]]
# the last one is too slow for the cube
ALL_METHODS = ["nsga_decoupled=nsga_decoupled:impact=published", PAPER_METHODS[1], "nsga_coupled=nsga_coupled:mixing=none",
               "nsga_pva=nsga_pva:mixing=none", "event_driven",
               "moreau_jean", "nsga_monolithic"]

# a step that does not converge is a failure, as in the paper
NO_HALVING = {"integrator/max_subdivisions": 0}
# the convergence test (eq. 51), the predictor and the matrices of the paper
PAPER_TEST = {"integrator/newton/test": "paper", "integrator/newton/predictor": "zero",
              "integrator/newton/tolerance": 1e-5, "integrator/newton/method": "full"}
# the program's test with the tolerance of the paper: in the bar's free flight all residuals are rounding, which a relative test
# refuses
TOLERANCE = {"integrator/newton/tolerance": 1e-5, "integrator/newton/constraint_tolerance": 1e-5}


def probes(*rows):
    return {"output/probes": [dict(zip(("name", "of", "quantity"), row)) for row in rows]}


BRICK = probes(("z", "center", "position.z"), ("v_z", "center", "velocity.z"))
BAR = {**probes(("x_tip", "bar.end", "position.x"), ("x_inner", "bar.node.191", "position.x")), "integrator/duration": 1.5}
BAR_CURVES = {**probes(("gap", "wall", "gap"), ("force", "wall", "contact_force"), ("x_inner", "bar.node.191", "position.x"),
                       ("v_inner", "bar.node.191", "velocity.x")),
              "integrator/duration": 1.5}
PENDULUM = probes(("y_tip", "arm.end", "position.y"), ("v_tip", "arm.end", "velocity.y"))
CUBE = probes(("z_corner", "cube.node.0", "position.z"), ("v_corner", "cube.node.0", "velocity.z"))

# study: model, methods, steps, reference, values of the model
STUDIES = {
    "brick": {
        "errors": ("brick_tied", PAPER_METHODS, "1e-2,4e-3,2e-3,1e-3,5e-4,2e-4,1e-4", "CS:step=1e-5", {**BRICK, **NO_HALVING}),
        "iterations": ("brick_tied", PAPER_METHODS, "1e-2,4e-3,2e-3,1e-3,5e-4,2e-4,1e-4", "DS:step=1e-4",
                       {**BRICK, **NO_HALVING, **PAPER_TEST}),
        "curves": ("brick_tied", CURVE_METHODS, "1e-3", "CS:step=1e-4", BRICK),
        "work": ("brick", ALL_METHODS, "2e-3,1e-3,5e-4,2e-4,1e-4,5e-5,2e-5", "event_driven:step=5e-6",
                 probes(("position", "brick", "position"))),
    },
    "bar": {
        "errors": ("elastic_bar", [*PAPER_METHODS, "CS_long=nsga_coupled:mixing=none:max_iterations=2000"],
                   "3e-2,2e-2,1e-2,3e-3,1e-3,3e-4,1e-4", "CS:step=1e-5", {**BAR, **NO_HALVING}),
        "iterations": ("elastic_bar", [*PAPER_METHODS, "CS_long=nsga_coupled:mixing=none:max_iterations=2000"],
                       "3e-2,2e-2,1e-2,3e-3,1e-3,3e-4,1e-4", "DS:step=1e-4", {**BAR, **NO_HALVING, **TOLERANCE}),
        "curves": ("elastic_bar", ["DS_0.03=nsga_decoupled:step=3e-2", "DS_0.01=nsga_decoupled:step=1e-2",
                                   "DSn_0.03=nsga_decoupled:force_corrections=false:step=3e-2",
                                   "DSn_0.01=nsga_decoupled:force_corrections=false:step=1e-2"], None,
                   "nsga_coupled:step=1e-3", BAR_CURVES),
        "work": ("elastic_bar", ALL_METHODS, "1e-2,3e-3,1e-3,3e-4,1e-4", "event_driven:step=2e-5",
                 {**probes(("tip", "bar.end", "position.x")), "integrator/duration": 1.5}),
    },
    "pendulum": {
        "errors": ("pendulum_beam", PAPER_METHODS, "1e-2,5e-3,2e-3,1e-3,5e-4,2e-4,1e-4,5e-5,2e-5", "CS:step=5e-6",
                   {**PENDULUM, **NO_HALVING, "integrator/duration": 0.35}),
        "iterations": ("pendulum_beam", PAPER_METHODS, "1e-2,5e-3,2e-3,1e-3,5e-4,2e-4,1e-4,5e-5,2e-5", "DS:step=5e-5",
                       {**PENDULUM, **NO_HALVING, **PAPER_TEST, "integrator/duration": 0.35}),
        "curves": ("pendulum_beam", CURVE_METHODS, "1e-4", "CS:step=1e-5", PENDULUM),
        "work": ("pendulum_beam", ALL_METHODS, "2e-3,1e-3,5e-4,2e-4,1e-4,5e-5", "nsga_decoupled:step=5e-6",
                 {**probes(("tip", "arm.end", "position")), "integrator/duration": 0.35}),
    },
    "cube": {
        "errors": ("cube", PAPER_METHODS, "1e-2,5e-3,2e-3,1e-3,5e-4,2e-4,1e-4", "CS:step=5e-5", {**CUBE, **NO_HALVING}),
        "iterations": ("cube", PAPER_METHODS, "1e-2,5e-3,2e-3,1e-3,5e-4,2e-4", "DS:step=2e-4",
                       {**CUBE, **NO_HALVING, **PAPER_TEST}),
        "curves": ("cube", CURVE_METHODS, "5e-4", "CS:step=2e-4", CUBE),
        "work": ("cube", ALL_METHODS[:-1], "5e-3,2e-3,1e-3,5e-4,2e-4",
                 "nsga_decoupled:step=5e-5", {**probes(("corner", "cube.node.0", "position")), "integrator/duration": 0.3}),
    },
}
def compare(program, directory, study):
    model, methods, steps, reference, values = study
    command = [program, "compare", str(MODELS / f"{model}.json"), "-q", "-o", str(directory),
               "--integrators", ",".join(methods), "--reference", reference, "--set", "/expect=[]"]
    if steps:
        command += ["--steps", steps]
    for pointer, value in values.items():
        command += ["--set", f"/{pointer}={json.dumps(value)}"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads((directory / "comparison.json").read_text())


# Tables

def by_step(results):
    """{label: {step: run}}"""
    return {method["label"]: {run["step"]: run for run in method["runs"]} for method in results["methods"]}


def table(title, results, cell):
    methods = by_step(results)
    steps = sorted({step for runs in methods.values() for step in runs}, reverse=True)
    print(f"\n{title}\n\n| h | {' | '.join(methods)} |\n|{'---|' * (len(methods) + 1)}")
    for step in steps:
        cells = [cell(runs[step]) if runs[step]["status"] == "completed" else "fails" for runs in methods.values()]
        print(f"| {step:g} | {' | '.join(cells)} |")
    for label, runs in methods.items():
        for run in runs.values():
            if run["status"] != "completed":
                print(f"- {label}, {run['step']:g}: {run.get('failure', '')}")


def error_table(name, results, values):
    names = [probe["name"] for probe in values["output/probes"]]
    table(f"{name}: mean errors of {', '.join(names)}", results,
          lambda run: ", ".join(f"{run['errors'][probe]['mean']:.1e}" for probe in names))
    for method in results["methods"]:
        orders = [method["fitted_orders"][probe]["mean"] for probe in names]
        print(f"- fitted orders of {method['label']}: {', '.join('-' if o is None else f'{o:.2f}' for o in orders)}")


def linear_systems(run):
    parts = run["iterations"].values()
    return sum(part["mean"] for part in parts), max(part["max"] for part in parts)


def iteration_table(name, results):
    table(f"{name}: iterations per step, mean of all sub-problems together (largest of one)", results,
          lambda run: "{:.2f} ({})".format(*linear_systems(run)))


def work_table(name, results):
    table(f"{name}: mean error at wall time of the steps [halved steps]", results,
          lambda run: f"{list(run['errors'].values())[0]['mean']:.1e} at {run['wall_seconds']['step']:.2g} s"
          + (f" [{run['subdivided_steps']}]" if run["subdivided_steps"] else ""))


# Pictures

def thinned(points, tolerance):
    """Douglas and Peucker: the points without those that are closer than the tolerance to the remaining line."""
    keep = {0, len(points) - 1}
    pending = [(0, len(points) - 1)]
    while pending:
        first, last = pending.pop()
        (x0, y0), (x1, y1) = points[first], points[last]
        length = math.hypot(x1 - x0, y1 - y0)
        farthest, distance = None, tolerance
        for i in range(first + 1, last):
            x, y = points[i]
            if length:
                d = abs((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0)) / length
            else:
                d = math.hypot(x - x0, y - y0)
            if d > distance:
                farthest, distance = i, d
        if farthest is not None:
            keep.add(farthest)
            pending += [(first, farthest), (farthest, last)]
    return [points[i] for i in sorted(keep)]


def thin_path(match):
    pieces = []
    for piece in match.group(1).split("M")[1:]:
        points = [tuple(map(float, point.split(","))) for point in piece.replace("L", " ").split()]
        pieces.append("M" + " L".join(f"{x:.2f},{y:.2f}" for x, y in thinned(points, 0.2)))
    return f"d='{' '.join(pieces)}'"


def nested(path, number, y, width):
    """gnuplot's picture of this width at this height, and its own height. The identifiers differ from those of others."""
    text = re.sub(r"d='(M[-0-9.,ML ]+)'", thin_path, path.read_text())
    text = re.sub(r"(id='|id=\"|href='#|href=\"#|url\(#)(gnuplot_|gp|textbox|greybox)", rf"\1p{number}_\2", text)
    text = re.sub(r"\n\s*\n", "\n", text)
    w, h = map(float, re.search(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', text).groups())
    body = re.sub(r"^<svg[^>]*>", "", text[text.index("<svg"):])
    height = h * width / w
    return (f"<svg y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' viewBox='0 0 {w:g} {h:g}' "
            f"xmlns:xlink='http://www.w3.org/1999/xlink'>{body.strip()}\n", height)


def picture(paths, target):
    """The pictures below each other."""
    width, parts, y = 900.0, [], 0.0
    for number, path in enumerate(paths):
        part, height = nested(path, number, y, width)
        parts.append(part)
        y += height
    target.write_text(f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {y:.0f}' width='{width:.0f}' "
                      f"height='{y:.0f}'>\n<rect width='{width:.0f}' height='{y:.0f}' fill='white'/>\n{''.join(parts)}</svg>\n")
    print(f"{target.name}: {target.stat().st_size // 1000 + 1} kB")


COLORS = {"DS": "#0072b2", "DSn": "#d55e00", "CS": "#009e73", "CS_long": "#cc79a7"}


def dashes(label):
    return " stroke-dasharray='7 5'" if label == "CS" else ""


def iteration_panel(title, curves, x0, y0):
    """Iterations over the step, both on logarithmic axes, as SVG."""
    width, height, left, top = 300.0, 190.0, 50.0, 30.0
    steps = [step for curve in curves.values() for step, _ in curve]
    low, high = math.log10(min(steps)) - 0.15, math.log10(max(steps)) + 0.15
    largest = math.log10(max(value for curve in curves.values() for _, value in curve)) + 0.15
    smallest = min(0.0, math.log10(min(value for curve in curves.values() for _, value in curve)) - 0.1)

    def at(step, value):
        return (left + (math.log10(step) - low) / (high - low) * width,
                top + (largest - math.log10(value)) / (largest - smallest) * height)

    out = [f"<g transform='translate({x0} {y0})'><text x='{left}' y='18' font-weight='bold'>{title}</text>"]
    for decade in range(math.ceil(low), math.floor(high) + 1):
        x, _ = at(10.0**decade, 1.0)
        out.append(f"<line x1='{x:.1f}' y1='{top}' x2='{x:.1f}' y2='{top + height}' stroke='#ddd'/>"
                   f"<text x='{x:.1f}' y='{top + height + 17}' text-anchor='middle'>1e{decade}</text>")
    for value in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000):
        if smallest <= math.log10(value) <= largest:
            _, y = at(10.0**low, value)
            out.append(f"<line x1='{left}' y1='{y:.1f}' x2='{left + width}' y2='{y:.1f}' stroke='#ddd'/>"
                       f"<text x='{left - 6}' y='{y + 4:.1f}' text-anchor='end'>{value}</text>")
    out.append(f"<rect x='{left}' y='{top}' width='{width}' height='{height}' fill='none' stroke='#888'/>")
    for label, curve in sorted(curves.items(), key=lambda item: list(COLORS).index(item[0]), reverse=True):
        points = [at(*point) for point in curve]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f"<polyline points='{line}' fill='none' stroke='{COLORS[label]}' stroke-width='1.8'{dashes(label)}/>")
        radius = 3 if label in ("DS", "CS") else 5
        out += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius}' fill='white' stroke='{COLORS[label]}' stroke-width='1.8'/>"
                for x, y in points]
    return "\n".join(out) + "</g>"


def iteration_picture(results, target):
    """Mean and largest iterations of every example, a column each."""
    parts = []
    for column, (name, result) in enumerate(results.items()):
        for row, (title, index) in enumerate((("mean of all sub-problems", 0), ("largest of one sub-problem", 1))):
            curves = {}
            for label, runs in by_step(result).items():
                curve = [(step, linear_systems(run)[index]) for step, run in sorted(runs.items()) if run["status"] == "completed"]
                if curve:
                    curves[label] = curve
            parts.append(iteration_panel(f"{name}: {title}", curves, 370 * column, 30 + 250 * row))
    for i, (label, color) in enumerate(COLORS.items()):
        parts.append(f"<line x1='{50 + 150 * i}' y1='18' x2='{80 + 150 * i}' y2='18' stroke='{color}' stroke-width='2.5'{dashes(label)}/>"
                     f"<text x='{88 + 150 * i}' y='22'>{label}</text>")
    width = 370 * len(results)
    target.write_text(f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} 550' width='{width}' height='550' "
                      "font-family='DejaVu Sans, Helvetica, Arial, sans-serif' font-size='13' fill='#222'>\n"
                      f"<rect width='{width}' height='550' fill='white'/>\n" + "\n".join(parts)
                      + f"\n<text x='{width / 2}' y='542' text-anchor='middle'>step, s</text></svg>\n")
    print(f"{target.name}: {target.stat().st_size // 1000 + 1} kB")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, output, wanted = sys.argv[1], Path(sys.argv[2]), sys.argv[3:] or list(STUDIES)
    if unknown := [name for name in wanted if name not in STUDIES]:
        sys.exit(f"error: no example {', '.join(unknown)}; there are {', '.join(STUDIES)}")
    iterations = {}
    for name in wanted:
        folder, studies = output / name, STUDIES[name]
        errors = compare(program, folder / "errors", studies["errors"])
        iterations[name] = compare(program, folder / "iterations", studies["iterations"])
        compare(program, folder / "curves", studies["curves"])
        work = compare(program, folder / "work", studies["work"])
        error_table(name, errors, studies["errors"][-1])
        iteration_table(name, iterations[name])
        work_table(name, work)
        picture([folder / "curves" / "probes.svg", folder / "errors" / "errors.svg"], HERE / f"ds20_{name}.svg")
        picture([folder / "work" / "work.svg"], METHODS_PAGE / f"choosing_{name}.svg")
        sys.stdout.flush()
    if len(iterations) == len(STUDIES):
        iteration_picture(iterations, HERE / "ds20_iterations.svg")


if __name__ == "__main__":
    main()
