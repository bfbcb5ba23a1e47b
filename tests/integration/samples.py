"""When containers of best effort had which values: looked at two hundred times a second, by a thread."""

import os
import threading
import time
from collections import namedtuple

BEST_EFFORT = "kubepods/besteffort"
Values = namedtuple("Values", "shares quota memory cpus")


def now():
    """Seconds, on the clock of /proc/uptime."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def milliseconds(spans):
    return [round(1000 * span) for span in spans]


class Samples(threading.Thread):
    """`right` says of Values whether they are what koordlet wants."""

    def __init__(self, cgroups, right):
        super().__init__(daemon=True)
        self.cgroups, self.right = cgroups, right
        self.seen = {}  # cgroup of a container -> [(time, Values)], each time that something changes
        self.slowest = 0.0  # between two looks
        self.ended = threading.Event()

    def run(self):
        last = now()
        while not self.ended.wait(0.005):
            for pod in self.folders(BEST_EFFORT, "pod"):
                for path in self.folders(pod, ""):
                    self.look(path)
            self.slowest, last = max(self.slowest, now() - last), now()

    def look(self, path):
        cgroups = self.cgroups
        try:
            if not cgroups.processes(path):
                return
            values = Values(cgroups.shares(path), cgroups.quota(path), cgroups.memory(path), cgroups.cpus(path))
        except (OSError, ValueError):
            return  # it comes or goes
        entries = self.seen.setdefault(path, [])
        if not entries or entries[-1][1] != values:
            entries.append((now(), values))

    def folders(self, path, prefix):
        try:
            with os.scandir(self.cgroups.dir("cpu", path)) as entries:
                return [f"{path}/{entry.name}" for entry in entries if entry.is_dir() and entry.name.startswith(prefix)]
        except FileNotFoundError:
            return []

    def right_since(self, path):
        """When the container first had what koordlet wants."""
        return next((at for at, values in self.seen.get(path, []) if self.right(values)), None)

    def alive(self):
        """Containers that are there, and have had what koordlet wants."""
        return [path for path in list(self.seen)
                if self.right_since(path) and os.path.isdir(self.cgroups.dir("cpu", path))]

    def spans(self, path, wrong, since):
        """How long it lasted each time that wrong(values) was true, after `since`."""
        lasted, begun = [], None
        for at, values in [*self.seen[path], (now(), None)]:
            if begun is not None and (values is None or not wrong(values)):
                lasted.append(at - max(begun, since))
                begun = None
            elif begun is None and values is not None and wrong(values):
                begun = at
        return [span for span in lasted if span > 0]

    def resets(self, path, since):
        return self.spans(path, lambda values: not self.right(values), since)

    def report(self, late):
        """A line for those who read the test's output."""
        return (f"     values {milliseconds(late)} ms after the first instruction (looked at every "
                f"{1000 * self.slowest:.0f} ms at worst)")
