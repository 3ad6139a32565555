#!/usr/bin/env python3
"""On a terminal a report of errors shows the line of the file with a caret; elsewhere it does not.

Usage: terminal.py CAROM
"""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

MODEL = '{"format": 2}\n'
MESSAGE = "m.json:1:12: error at /format: expected 1, got 2"


def on_terminal(command, folder):
    """Output of the command on a terminal with 60 columns."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 60, 0, 0))
    process = subprocess.Popen(command, cwd=folder, stderr=end, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    os.close(end)
    said = b""
    while True:
        try:
            block = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        said += block
    os.close(terminal)
    return process.wait(), said.decode().replace("\r\n", "\n")


def main():
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "m.json").write_text(MODEL)
        for name in ("check", "run"):
            code, said = on_terminal([program, name, "m.json"], folder)
            expected = MESSAGE + '\n    {"format": 2}\n               ^\n'
            if code != 3 or expected not in said:
                print(f"carom {name} on a terminal: exit code {code}\n{said}")
                return 1
            piped = subprocess.run([program, name, "m.json"], cwd=folder, capture_output=True, text=True, check=False)
            if "^" in piped.stderr or MESSAGE not in piped.stderr:
                print(f"carom {name} without a terminal:\n{piped.stderr}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
