#!/usr/bin/env python3
"""Prints mean and largest iterations per sub-problem against the step, by running the program on its models.

Usage: iteration_tables.py PROGRAM [MODEL ...]     models of data/models; default: brick brick_tied pendulum_beam cube

Two tables per model: the default convergence test, and the test and predictor of Cosimo et al. (2020), eq. 51,
tolerance 1e-5, v~' = 0. Full Newton in both; DS, and for pendulum and cube DSn. Cells: mean
smooth/position/velocity (largest). The whole takes about ten minutes, the cube at h = 1e-5 most of them.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

MODELS = Path(__file__).resolve().parents[2] / "data" / "models"
STEPS = ["1e-2", "5e-3", "2e-3", "1e-3", "5e-4", "2e-4", "1e-4", "1e-5"]
PAPER = ["/integrator/newton/test=paper", "/integrator/newton/predictor=zero", "/integrator/newton/tolerance=1e-5"]
ALWAYS = [
    "/integrator/newton/method=full", "/expect=[]",
    "/output/vtu/enabled=false", "/output/probes=[]", "/output/checkpoint/enabled=false",
]
CORRECTIONS = {"DS": [], "DSn": ["/integrator/force_corrections=false"]}
VARIANTS = {
    "pendulum_beam": CORRECTIONS,
    "brick": {"": []},
    "brick_tied": {"phi = 0": ["/parameters/phi=0"], "phi = 0.5": ["/parameters/phi=0.5"]},
    "cube": CORRECTIONS,
}


def run(program, model, overrides):
    with tempfile.TemporaryDirectory() as directory:
        command = [program, "run", str(MODELS / f"{model}.json"), "-q", "-o", directory]
        for override in [*overrides, *ALWAYS]:
            command += ["--set", override]
        status = subprocess.run(command, check=False, capture_output=True, text=True)
        summary = Path(directory) / "summary.json"
        if not summary.exists():
            sys.exit(status.stderr)
        return json.loads(summary.read_text())


def table(program, model, title, overrides):
    print(f"\n{title}")
    print(f"  {'h':>6}  {'smooth':>12}  {'position':>12}  {'velocity':>12}  {'sum':>6}  {'halved':>6}  status")
    for step in STEPS:
        summary = run(program, model, [f"/integrator/step={step}", *overrides])
        parts = [summary["iterations"][name] for name in ("smooth", "position", "velocity")]
        cells = "  ".join(f"{p['mean']:>7.3f} ({p['max']:>2})" for p in parts)
        total = sum(p["mean"] for p in parts)
        print(f"  {step:>6}  {cells}  {total:>6.3f}  {summary['subdivided_steps']:>6}  {summary['status']}")


def main():
    program, models = sys.argv[1], sys.argv[2:] or list(VARIANTS)
    for model in models:
        for name, overrides in VARIANTS.get(model, {"": []}).items():
            label = f"{model}, {name}" if name else model
            table(program, model, f"{label}: default test", overrides)
            table(program, model, f"{label}: the paper's test and predictor", [*overrides, *PAPER])


if __name__ == "__main__":
    main()
