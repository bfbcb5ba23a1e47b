"""For tests that use kubectl on a cluster of simulated nodes, which needs no root."""

import argparse
import os
import shutil
import sys
import tempfile

from one_machine import Cluster
from waiting import SKIP, Failure


def run_on_simulated_nodes(what, steps, *flags):
    """Starts a cluster with these flags of `koordctl up` and calls the steps with it and the repository's folder.

    A flag may name a file of the repository as {source}/FILE. The exit status; 77 means that kubectl is missing.
    """
    parser = argparse.ArgumentParser(description=what.splitlines()[0])
    parser.add_argument("--programs", required=True, help="folder with koordctl and the components")
    parser.add_argument("--source", required=True, type=os.path.abspath, help="the repository")
    options = parser.parse_args()
    if not shutil.which("kubectl"):
        print("skipped: kubectl is missing")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="koord-simulated-") as folder:
        cluster = Cluster(options.programs, folder, "--host-node=off", *(flag.format(source=options.source) for flag in flags))
        cluster.start()
        try:
            for step in steps:
                step(cluster, options.source)
                print("ok  ", step.__name__.replace("_", " "), flush=True)
        except Failure as failure:
            print(f"failed: {failure}", file=sys.stderr)
            return 1
        finally:
            cluster.stop()
    return 0
