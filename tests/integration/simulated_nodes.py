"""For tests that use kubectl on a cluster of simulated nodes, which needs no root."""

import argparse
import os
import shutil
import sys
import tempfile

from one_machine import Cluster
from waiting import SKIP, Failure


def parsed(what, *paths):
    """The options of the command line, which are all paths and needed. Ends the test with status 77 without kubectl."""
    parser = argparse.ArgumentParser(description=what.splitlines()[0])
    for path in paths:
        parser.add_argument(path, required=True, type=os.path.abspath)
    options = parser.parse_args()
    if not shutil.which("kubectl"):
        print("skipped: kubectl is missing")
        sys.exit(SKIP)
    return options


def call(steps, cluster, *arguments):
    """Calls the steps with the arguments until one fails. The exit status."""
    for step in steps:
        try:
            step(*arguments)
        except Failure as failure:
            print("FAIL", step.__name__, failure, cluster.log_tail())
            return 1
        print("ok  ", step.__name__.replace("_", " "), flush=True)
    return 0


def run_steps(what, make, *needed):
    """The main function of a test: calls the steps of make(options, folder), which has a Cluster named `cluster`.

    `needed`: more options of the command line, which are paths. The exit status; 77 means that kubectl is missing.
    """
    options = parsed(what, "--programs", *needed)
    with tempfile.TemporaryDirectory(prefix="koord-steps-", ignore_cleanup_errors=True) as folder:
        test = make(options, folder)
        try:
            return call(test.steps(), test.cluster)
        finally:
            if test.cluster.process:
                test.cluster.kill()


def run_on_simulated_nodes(what, steps, *flags):
    """Starts a cluster with these flags of `koordctl up` and calls the steps with it and the repository's folder.

    A flag may name a file of the repository as {source}/FILE. The exit status; 77 means that kubectl is missing.
    """
    options = parsed(what, "--programs", "--source")
    with tempfile.TemporaryDirectory(prefix="koord-simulated-") as folder:
        cluster = Cluster(options.programs, folder, "--host-node=off", *(flag.format(source=options.source) for flag in flags))
        cluster.start()
        try:
            return call(steps, cluster, cluster, options.source)
        finally:
            cluster.stop()
