#!/usr/bin/env python3
"""Records the screen of `koordctl up --demo` for the picture in the README.

    record_screen.py --programs FOLDER [--seconds 75]

It runs the demo on this host in a terminal of 110 columns, as root. Of the screens after the first half minute, in
which pods start, it writes the one on which the latency-sensitive pod uses most CPU to docs/pictures/screen.txt.
scripts/pictures.py draws it.
"""

import argparse
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time

TARGET = pathlib.Path(__file__).resolve().parent.parent / "docs" / "pictures" / "screen.txt"
ROWS, COLUMNS = 34, 110
HOME = "\x1b[H"  # koordctl begins each screen with it
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LS_USE = re.compile(r"LS\s+uses ([0-9.]+),")
STARTED = re.compile(r"  up (?:3[0-9]|[45][0-9]|[0-9]+m[0-9]+)s$", re.MULTILINE)


def read_until(terminal, end):
    output = b""
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # the program has ended
                break
            if not piece:
                break
            output += piece
    return output


def record(koordctl, seconds, data):
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(koordctl, [koordctl, "up", "--demo", "--listen", "127.0.0.1:0", "--data-dir", data])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    output = read_until(terminal, time.monotonic() + seconds)
    os.kill(child, signal.SIGINT)
    read_until(terminal, time.monotonic() + 30)
    os.waitpid(child, 0)
    return output.decode(errors="replace")


def screens(output):
    for screen in output.split(HOME)[1:]:
        yield ESCAPE.sub("", screen).replace("\r", "").rstrip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, help="folder of koordctl and the other programs")
    parser.add_argument("--seconds", type=float, default=75, help="how long to record (default %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="screen-") as folder:
        output = record(os.path.join(options.programs, "koordctl"), options.seconds, os.path.join(folder, "data"))
        found = [(float(use.group(1)), screen.replace(folder, "/var/lib/koordctl").replace("koordctl/data", "koordctl"))
                 for screen in screens(output) if STARTED.search(screen) and (use := LS_USE.search(screen))]
    if not found:
        print("no screen showed CPU suppress: the demo needs root and cgroups", file=sys.stderr)
        return 1
    TARGET.write_text(max(found)[1] + "\n", encoding="utf-8")
    print(f"{TARGET.name}: the latency-sensitive pod uses {max(found)[0]:.2f} cores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
