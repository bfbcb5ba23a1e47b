#!/usr/bin/env python3
"""The full screen of `koordctl up` and `koordctl top` in real terminals: panes, keys, sizes, how it ends, and terminals
that do not read. Simulated nodes only.

Every wait polls a condition and has a limit; exit status 77 means that this machine cannot run it.
"""

import argparse
import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import tmux
from waiting import SKIP, Failure, check, wait_until

SIZES = [(12, 60), (24, 80), (50, 200), (100, 300)]
EVIL = "evil\x1b]0;stolen\x07\x1b[2J\x1b[31m\u0085\u202e"


class Host:
    """A folder for clusters, and the programs."""

    def __init__(self, programs, folder):
        self.koordctl = os.path.join(programs, "koordctl")
        self.folder = folder
        self.kubeconfig = os.path.join(folder, "data", "kubeconfig")

    def up(self, *more):
        return " ".join([self.koordctl, "up", "--host-node=off", "--listen", "127.0.0.1:0", "--data-dir",
                         os.path.join(self.folder, "data"), *more])

    def kubectl(self, *arguments, stdin=None):
        done = subprocess.run(["kubectl", "--kubeconfig", self.kubeconfig, *arguments], input=stdin, text=True,
                              capture_output=True, timeout=60, check=False)
        check(done.returncode == 0, f"kubectl {arguments}: {done.stderr}")
        return done.stdout

    def processes(self):
        """Of the cluster in this folder."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    command = file.read().split(b"\0")
            except OSError:
                continue
            if any(self.folder.encode() in word for word in command) and b"koord" in os.path.basename(command[0]):
                found.append(int(pid))
        return found

    def has_ended(self):
        wait_until("all programs of the cluster have ended", lambda: not self.processes(), 30)
        check(not os.path.exists(self.kubeconfig), "the kubeconfig of a cluster that has ended is still there")


def event(name, message):
    latest = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))  # stays the first of the list
    return json.dumps({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"},
                       "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"}, "type": "Warning",
                       "reason": "Odd", "message": message, "lastTimestamp": latest})


def all_panes(pane):
    """What each pane shows at the size of the terminal."""
    pane.press("1")
    pane.expect("API server")
    pane.press("2")
    pane.expect("USED/CORES", "sim-0", "sim-3")
    pane.press("3")
    pane.expect("CPU/REQUEST", "web-")
    pane.press("4")
    pane.expect("FROM")
    pane.press("5")
    pane.expect("CPU/MAX", "team-a")
    pane.press("6")
    pane.expect("REASON", "Odd")
    pane.press("?")
    pane.expect("the panes")
    pane.press("Escape")

    def shows_keys(text):
        last = text.rstrip("\n").split("\n")[-1]
        return "REASON" in text and ("quit" in last or "stop" in last)

    # The help stays on the screen until it is drawn again.
    lines = pane.until("the keys of the pane are in the last row", shows_keys).rstrip("\n").split("\n")
    check(len(lines) <= pane.rows, f"{len(lines)} lines on {pane.rows} rows")


def look_around(host, pane):
    """Lists, filters, sorting, details."""
    pane.resize(24, 80)
    pane.press("3")
    pane.expect("CPU/REQUEST")
    pane.type("/stuck")
    pane.expect("stuck", "1 of ")
    pane.press("Enter")
    pane.press("Enter")
    pane.expect("pod default/stuck", "Insufficient cpu", "0/4 nodes are available")
    pane.press("Escape", "Escape")
    pane.until("all pods", lambda text: "web-" in text and 'filter "' not in text)
    pane.type("sss")
    pane.expect("CPU/REQUEST↓")
    pane.press("2")
    pane.expect("sim-0")
    pane.press("Down", "Enter")
    pane.resize(100, 200)
    pane.expect("node sim-1", "batch-cpu = ", "mid-memory = ", "PODS")  # koord-manager's answer
    pane.resize(24, 80)
    pane.type("p")
    pane.expect("CPU/REQUEST", 'filter "=sim-1"')
    pane.press("Escape", "6", "Enter")
    pane.expect("evil?]0;stolen??[2J")  # the whole message, harmless
    check(pane.shows("pane_title") != "stolen", "a message set the title of the terminal")
    pane.press("Escape")


def screens(host):
    """koordctl up and koordctl top side by side."""
    for rows, columns in SIZES[1:2]:
        with tmux.Pane(rows, columns) as up:
            up.run(host.up("--nodes", "4"))
            up.expect("1 overview", "leading", limit=60)
            host.kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3")
            host.kubectl("create", "-f", "-", stdin=event("odd", EVIL))
            host.kubectl("run", "stuck", "--image=nginx", "--overrides", json.dumps({"spec": {"containers": [
                {"name": "stuck", "image": "nginx", "resources": {"requests": {"cpu": "1000"}}}]}}))
            host.kubectl("create", "-f", "-", stdin=json.dumps({
                "apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota",
                "metadata": {"name": "team-a", "namespace": "default"},
                "spec": {"max": {"cpu": "8", "memory": "16Gi"}, "min": {"cpu": "4", "memory": "8Gi"}}}))
            with tmux.Pane(*SIZES[0]) as top:
                top.run(f"{host.koordctl} top --kubeconfig {host.kubeconfig}")
                top.expect("1 overview")
                for size in SIZES:
                    for pane in (up, top):
                        pane.resize(*size)
                        all_panes(pane)
                look_around(host, up)
                look_around(host, top)
                top.type("q")
                top.check_restored()
            up.type("q")
            up.expect("q again stops")
            up.type("x")
            up.until("the question is gone", lambda text: "q again" not in text)
            up.type("qq")
            up.check_restored()
            host.has_ended()


def ends(host):
    """Whatever ends it, the terminal is as before."""
    def interrupted(pane):
        pane.press("C-c")

    def terminated(_):
        os.kill(min(host.processes()), signal.SIGTERM)

    for end in (interrupted, terminated):
        with tmux.Pane(40, 100) as pane:
            pane.run(host.up("--nodes", "1"))
            pane.expect("1 overview", limit=60)
            for pid in host.processes():  # a component that dies is started again
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    if "scheduler" in file.read():
                        os.kill(pid, signal.SIGKILL)
            pane.until("the component that died", lambda text: "koord-scheduler" in text and "  1  " in text)
            end(pane)
            pane.check_restored()
            host.has_ended()


def closed(host):
    """The window is closed: the cluster ends in order."""
    with tmux.Pane(24, 80) as pane:
        pane.run(host.up("--nodes", "1"))
        pane.expect("1 overview", limit=60)
        pane.close()
        host.has_ended()


def slow_terminal(host):
    """A terminal that does not read what it gets does not stop the cluster, and the cluster ends at once."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 100, 300, 0, 0))
    before = termios.tcgetattr(slave)
    process = subprocess.Popen(host.up("--nodes", "40").split(), stdin=slave, stdout=slave, stderr=slave,
                               env={**os.environ, "TERM": "xterm"}, start_new_session=True,
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    try:
        wait_until("the API server answers", lambda: host.kubectl("get", "--raw", "/readyz") == "ok", 60)
        wait_until("the nodes", lambda: len(host.kubectl("get", "nodes", "-o", "name").split()) == 40)
        for key in b"2345621" * 20:  # many whole screens, which no one reads
            os.write(master, bytes([key]))
        check(host.kubectl("get", "--raw", "/readyz") == "ok", "a slow terminal stops the API server")
        process.send_signal(signal.SIGTERM)
        check(process.wait(timeout=30) == 0, f"status {process.returncode}")
        check(termios.tcgetattr(slave)[:4] == before[:4], "the terminal's modes are not as before")
        host.has_ended()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(slave)
        os.close(master)


def lines(host):
    """Without a terminal it prints lines, also for TERM=dumb."""
    host_process = subprocess.Popen(host.up("--nodes", "2").split(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                    text=True)
    try:
        check(host_process.stdout.readline() == "ready\n", "no line 'ready'")
        check("nodes 2/2 ready" in host_process.stdout.readline(), "no line with the nodes")
        top = subprocess.Popen([host.koordctl, "top", "--kubeconfig", host.kubeconfig], stdout=subprocess.PIPE, text=True)
        check("nodes 2/2 ready" in top.stdout.readline(), "top prints no line")
        top.send_signal(signal.SIGTERM)
        check(top.wait(timeout=10) == 0, f"top ended with {top.returncode}")
        with tmux.Pane(24, 80) as pane:
            pane.run(f"TERM=dumb {host.koordctl} top --kubeconfig {host.kubeconfig}")
            pane.expect("nodes 2/2 ready")
            pane.press("C-c")
            pane.check_restored()
    finally:
        host_process.send_signal(signal.SIGTERM)
        host_process.wait(timeout=30)
    wrong = subprocess.run([host.koordctl, "top", "--kubeconfig", host.kubeconfig], capture_output=True, text=True,
                           timeout=30, check=False)
    check(wrong.returncode == 1 and host.kubeconfig in wrong.stderr, f"{wrong.returncode}: {wrong.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True)
    parser.add_argument("--only", help="one part")
    options = parser.parse_args()
    if not tmux.available() or not shutil.which("kubectl"):
        print("skipped: it needs tmux and kubectl")
        return SKIP
    for part in (screens, ends, closed, slow_terminal, lines):
        if options.only and part.__name__ != options.only:
            continue
        folder = tempfile.mkdtemp(prefix="screen-")
        host = Host(options.programs, folder)
        begun = time.monotonic()
        try:
            part(host)
        except Failure as failure:
            print(f"{part.__name__}: {failure}", file=sys.stderr)
            return 1
        finally:
            for pid in host.processes():
                os.kill(pid, signal.SIGKILL)
            shutil.rmtree(folder, ignore_errors=True)
        print(f"ok: {part.__name__} ({time.monotonic() - begun:.1f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
