#!/usr/bin/env python3
"""Records the screen of `koordctl up --demo` for the picture in the README.

    record_screen.py --programs FOLDER [--seconds 75]

It runs the demo on this host in a terminal of 110 columns (tmux), as root. Of the screens after the first half minute, in
which pods start, it writes the one on which the latency-sensitive pod uses most CPU to docs/pictures/screen.txt.
scripts/pictures.py draws it.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

TARGET = pathlib.Path(__file__).resolve().parent.parent / "docs" / "pictures" / "screen.txt"
ROWS, COLUMNS = 34, 110
LS_USE = re.compile(r"LS\s+uses ([0-9.]+),")
STARTED = re.compile(r"  up (?:3[0-9]|[45][0-9]|[0-9]+m[0-9]+)s$", re.MULTILINE)


class Terminal:
    """A tmux server of its own with one window, in which a program runs."""

    def __init__(self, folder, command):
        self.socket = os.path.join(folder, "socket")
        self.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), *command)
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("resize-window", "-x", str(COLUMNS), "-y", str(ROWS))

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, text=True,
                              check=False).stdout

    def screen(self):
        return "\n".join(self.tmux("capture-pane", "-p").rstrip().split("\n"))

    def stop(self):
        self.tmux("send-keys", "C-c")
        end = time.monotonic() + 30
        while self.screen() and time.monotonic() < end:  # the window is gone with its program
            time.sleep(0.2)


def record(koordctl, seconds, folder):
    data = os.path.join(folder, "data")
    terminal = Terminal(folder, [koordctl, "up", "--demo", "--listen", "127.0.0.1:0", "--data-dir", data])
    seen = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.5)
        seen.append(terminal.screen())
    terminal.stop()
    return seen


def shown(screen, folder):
    """The screen as a picture has it: without the token of the console, with the default data folder."""
    screen = screen.replace(folder, "/var/lib/koordctl").replace("koordctl/data", "koordctl")
    return re.sub(r"#token=\w+", "", screen)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True, help="folder of koordctl and the other programs")
    parser.add_argument("--seconds", type=float, default=75, help="how long to record (default %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="screen-") as folder:
        screens = record(os.path.join(options.programs, "koordctl"), options.seconds, folder)
        found = [(float(use.group(1)), shown(screen, folder))
                 for screen in screens if STARTED.search(screen) and (use := LS_USE.search(screen))]
    if not found:
        print("no screen showed CPU suppress: the demo needs root and cgroups", file=sys.stderr)
        return 1
    TARGET.write_text(max(found)[1] + "\n", encoding="utf-8")
    print(f"{TARGET.name}: the latency-sensitive pod uses {max(found)[0]:.2f} cores")
    return 0


if __name__ == "__main__":
    sys.exit(main())
