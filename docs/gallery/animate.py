#!/usr/bin/env python3
"""Makes the animation of a model for the README: runs it, lets the series' view.py render frames, and gnuplot join them.

    animate.py CAROM_PROGRAM PVPYTHON WORKDIR MODEL OUT.gif [--frames N] [--until T] [-- VIEW OPTIONS]

VIEW OPTIONS go to view.py: --field NAME, --from X,Y,Z. Called by
"./carom animate MODEL [OPTIONS]".
"""

import argparse
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SIZE = (640, 360)


def join(frames, out, delay):
    """The pictures as one GIF, shown for `delay` hundredths of a second each."""
    script = [f"set terminal gif truecolor animate delay {delay} loop 0 size {SIZE[0]},{SIZE[1]}", f"set output '{out}'",
              "set lmargin at screen 0; set rmargin at screen 1; set tmargin at screen 1; set bmargin at screen 0",
              f"unset border; unset tics; unset key; set xrange [-0.5:{SIZE[0] - 0.5}]; set yrange [-0.5:{SIZE[1] - 0.5}]"]
    script += [f"plot '{frame}' binary filetype=png with rgbimage" for frame in frames]
    subprocess.run(["gnuplot", "-d"], input="\n".join(script) + "\nset output\n", text=True, check=True)


def main():
    words, view = sys.argv[1:], []
    if "--" in words:
        words, view = words[: words.index("--")], words[words.index("--") + 1:]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("program", "pvpython", "work", "model", "out"):
        parser.add_argument(name)
    parser.add_argument("--frames", type=int, default=36)
    parser.add_argument("--until", help="simulated time")
    options = parser.parse_args(words)
    model = HERE.parents[1] / "data" / "models" / f"{options.model}.json"
    results = pathlib.Path(options.work) / f"{options.model}-animation"
    command = [options.program, "run", str(model), "-q", "-o", str(results), "--set", "/expect=[]"]
    if options.until:
        command += ["--until", options.until]
    if subprocess.run(command, check=False).returncode:
        sys.exit(f"error: {' '.join(command)}")
    frames = results / "frames"
    frames.mkdir(exist_ok=True)
    for old in frames.glob("*.png"):
        old.unlink()
    subprocess.run(["xvfb-run", "-a", "-s", "-screen 0 1280x1024x24 -noreset", options.pvpython, str(results / "view.py"),
                    "--animation", str(frames / "f.png"), "--size", f"{SIZE[0]},{SIZE[1]}", "--frames",
                    str(options.frames), *view], check=True, stdout=subprocess.DEVNULL)
    join(sorted(frames.glob("f.*.png")), options.out, 8)
    print(f"{options.out}: {options.frames} frames, {pathlib.Path(options.out).stat().st_size // 1000} kB")


main()
