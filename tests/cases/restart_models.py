#!/usr/bin/env python3
"""Runs models with several methods twice: without interruption, and from the checkpoint in the middle of the first run.

    restart_models.py PROGRAM MODEL... [--methods NAMES] [--steps N] [--step H]

Both runs must have the same rows of probes.csv and energy.csv after the checkpoint, digit by digit. Blanks before a row fill
blocks of the file and do not count. The duration is the same in both runs, because scales follow from it. A method that refuses
the model, or fails in the first run, or takes longer than a minute is listed. The exit code is 1 if a restarted run differs.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

METHODS = {
    "index_1": {"type": "generalized_alpha", "formulation": "index_1"},
    "baumgarte": {"type": "generalized_alpha", "formulation": "baumgarte", "baumgarte": {"alpha": 10, "beta": 10}},
    "ggl": {"type": "generalized_alpha", "formulation": "ggl"},
    "nsga_decoupled": {"type": "nsga_decoupled"},
    "located": {"type": "nsga_decoupled", "impact": "located"},
    "nsga_coupled": {"type": "nsga_coupled"},
    "nsga_monolithic": {"type": "nsga_monolithic"},
    "nsga_pva": {"type": "nsga_pva"},
    "event_driven": {"type": "event_driven", "rest_speed": 1e-3},
    "moreau_jean": {"type": "moreau_jean"},
}


def rows(table, first):
    """Rows after the time of the checkpoint, which is in row `first`."""
    if not table.exists():
        return []
    return [line.strip() for line in table.read_text().splitlines()[1:]][first:]


def run(program, model, method, step, steps, results, more=()):
    integrator = {**METHODS[method], "step": step, "duration": steps * step}
    settings = ["/expect=[]", '/output/energy={"every": 1}', "/output/probes_every=1", '/output/vtu={"every": 1000000}',
                f'/output/checkpoint={{"every": {steps // 2}, "keep": 5}}', "/integrator=" + json.dumps(integrator)]
    command = [program, "run", str(model), "-q", "-o", str(results), *(x for s in settings for x in ("--set", s)), *more]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "takes longer than a minute"
    return "" if done.returncode == 0 else f"exit code {done.returncode}: {' '.join(done.stderr.split())[:160]}"


def compare(program, model, method, step, steps):
    """The word and the reason for one model and one method."""
    with tempfile.TemporaryDirectory() as directory:
        whole, rest = Path(directory) / "whole", Path(directory) / "rest"
        failure = run(program, model, method, step, steps, whole)
        if failure:
            return "not run", failure
        middle = sorted((whole / "checkpoint").iterdir())[0]
        failure = run(program, model, method, step, steps, rest, ["--restart", str(middle)])
        if failure:
            return "DIFFERS", failure
        for table in ("probes.csv", "energy.csv"):
            a, b = rows(whole / table, steps // 2 + 1), rows(rest / table, 1)
            if (whole / table).exists() and len(a) != steps - steps // 2:
                return "not run", f"{table} has {len(a)} rows after the checkpoint"
            if a != b:
                return "DIFFERS", table
    return "same", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--step", type=float, default=1e-3)
    options = parser.parse_args()
    differs = False
    for model in options.models:
        for method in options.methods.split(","):
            word, reason = compare(options.program, model, method, options.step, options.steps)
            differs = differs or word == "DIFFERS"
            print(f"{model.stem:22} {method:16} {word}  {reason}".rstrip(), flush=True)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
