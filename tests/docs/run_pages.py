#!/usr/bin/env python3
"""Runs the commands of documentation pages and compares their output with the page.

    run_pages.py --programs FOLDER [--write] [PAGE ...]

Without pages it takes all of docs/ and README.md. The first lines of docs/style.md, "Documentation", say how a page is
written. Each page with a comment `<!-- cluster: FLAGS -->` gets a cluster of its own (`koordctl up FLAGS`). With --write the
outputs in the page are replaced by the real ones where they differ. A page with the host as a node (`--host-node=on`) needs root,
and no other such cluster beside it: it runs if it is named. Ends with 1 if a page is wrong, and with 77 if kubectl or root is
missing.
"""

import argparse
import difflib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from outputs import agrees, normal
from page import Page

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEFAULT_FLAGS = ["--host-node=off", "--nodes", "3"]
READS = re.compile(r"^(kubectl (-n \S+ )?(get|describe|wait|events|logs|top|auth|explain|api-resources)\b"
                   r"|koordctl (explain|status|doctor|deschedule|replay|top|simulate|capacity)\b|curl -s|cat |grep |ls )")
PATIENCE = 60.0  # seconds for a command that only reads to show what the page says
SETTLED = 3.0    # seconds without a change after which --write takes an output


class Cluster:
    def __init__(self, programs, flags):
        self.folder = tempfile.mkdtemp(prefix="pages-")
        data = os.path.join(self.folder, "data")
        self.kubeconfig = os.path.join(data, "kubeconfig")  # koordctl finds the components beside it
        self.environment = dict(os.environ, KUBECONFIG=self.kubeconfig, HOME=self.folder, LC_ALL="C.UTF-8",
                                PATH=programs + os.pathsep + os.environ["PATH"], COLUMNS="120")
        self.process = subprocess.Popen(
            [os.path.join(programs, "koordctl"), "up", "--quiet", "--listen", "127.0.0.1:0", "--data-dir", data, *flags],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            error = self.process.stderr.read()
            self.stop()
            raise RuntimeError(f"koordctl up {' '.join(flags)}: {error.strip()}")

    def run(self, text):
        """The output lines of a command; a status other than 0 is one more line."""
        ran = subprocess.run(["bash", "-c", text], cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        lines = ran.stdout.rstrip("\n").split("\n") if ran.stdout.strip("\n") else []
        return lines + ([f"exit code {ran.returncode}"] if ran.returncode else [])

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)


def matching(cluster, command):
    """The output; that of a reading command once it agrees with the page, or the last one."""
    end, pause = time.monotonic() + PATIENCE, 0.1
    while True:
        output = cluster.run(command.text)
        if agrees(command.output, output) or not READS.match(command.text) or time.monotonic() > end:
            return output
        time.sleep(pause)
        pause = min(pause * 1.5, 2.0)  # each look costs a process


def settled(cluster, command):
    """The output; that of a reading command once it stays the same."""
    output, since, end = cluster.run(command.text), time.monotonic(), time.monotonic() + PATIENCE
    while READS.match(command.text) and time.monotonic() < min(since + SETTLED, end):
        if agrees(command.output, output) and command.output:
            break
        time.sleep(0.7)
        again = cluster.run(command.text)
        if [normal(line) for line in again] != [normal(line) for line in output]:
            since = time.monotonic()
        output = again
    return output


def play(page, cluster, write):
    """Runs all commands of a page. Returns the differences, and what its blocks have to be."""
    problems, texts = [], {}
    for block in page.blocks:
        if block.language != "console":
            continue
        lines = []
        for command in page.commands(block):
            output = (settled if write else matching)(cluster, command)
            same = agrees(command.output, output)
            lines += command.source() + (command.output if same else output)
            if not same:
                difference = difflib.unified_diff(command.output, output, "page", "command", lineterm="", n=9)
                problems.append(f"{page.name}:{command.line}: $ {command.text}\n" + "\n".join(difference))
        texts[block.start] = lines
    return problems, texts


def needs_host(path):
    return "--host-node=on" in (Page(path, ROOT).cluster or [])


def run(path, programs, write):
    begun = time.monotonic()
    page = Page(path, ROOT)
    problems, texts = [], {}
    if any(block.language == "console" for block in page.blocks) and page.cluster is not None:
        cluster = None
        try:
            cluster = Cluster(programs, page.cluster or DEFAULT_FLAGS)
            problems, texts = play(page, cluster, write)
        except (RuntimeError, subprocess.TimeoutExpired) as failure:
            problems = [f"{page.name}: {failure}"]
        finally:
            if cluster:
                cluster.stop()
    if write:
        page.write(texts)
        page = Page(path, ROOT)
    return page.name, page.problems + problems, time.monotonic() - begun, bool(texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", required=True, help="folder with koordctl and the other programs")
    parser.add_argument("--write", action="store_true", help="put the real outputs and files into the pages")
    parser.add_argument("--jobs", type=int, default=2, help="pages at the same time (default %(default)s)")
    parser.add_argument("pages", nargs="*", help="Markdown files (default: README.md and all of docs/)")
    options = parser.parse_args()
    if not shutil.which("kubectl"):
        print("skipped: kubectl is missing")
        return 77
    paths = options.pages or [path for path in (os.path.join(ROOT, "README.md"),
                                                *sorted(glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True)))
                              if not needs_host(path)]
    if os.geteuid() != 0 and any(map(needs_host, paths)):
        print("skipped: a page with the host as a node needs root")
        return 77
    programs, failed, passed = os.path.abspath(options.programs), 0, 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, problems, seconds, ran in pool.map(lambda path: run(path, programs, options.write), paths):
            if problems:
                failed += 1
                print(f"FAIL {name}\n" + "\n".join(problems), flush=True)
            else:
                passed += 1
                if ran:
                    print(f"ok   {name} ({seconds:.1f} s)", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
