#!/usr/bin/env python3
"""Runs models and renders their pictures: docs/gallery/<model>.png for the models of scenes.json, or those named.

    make.py CAROM_PROGRAM PVPYTHON WORKDIR [MODEL...]

Called by "./carom gallery". "set" in a scene: overrides of the run.
"""

import json
import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
models = here.parent.parent / "data" / "models"


def main():
    program, pvpython, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    scenes = json.loads((here / "scenes.json").read_text(encoding="utf-8"))
    wanted = sys.argv[4:] or sorted(scenes)
    if unknown := [name for name in wanted if name not in scenes]:
        sys.exit(f"error: no scene for {', '.join(unknown)} in {here / 'scenes.json'}")
    failed = []
    for name in wanted:
        scene, results = scenes[name], work / name
        command = [program, "run", models / f"{name}.json", "-o", results, "-q"]
        for override in scene.get("set", []):
            command += ["--set", override]
        code = subprocess.run(command, check=False).returncode
        if code not in (0, 6):
            failed.append(f"{name}: the run ended with exit code {code}")
            continue
        (work / f"{name}.scene.json").write_text(json.dumps(scene), encoding="utf-8")
        command = ["xvfb-run", "-a", "-s", "-screen 0 1280x1024x24 -noreset", pvpython, here / "render.py",
                   results / f"{name}.pvd", work / f"{name}.scene.json", here / f"{name}.png"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("error", str(here)))]
        print("\n".join(lines) or done.stdout + done.stderr, flush=True)
        if done.returncode != 0:
            failed.append(f"{name}: no picture")
    if failed:
        sys.exit("error: " + "\nerror: ".join(failed))


main()
