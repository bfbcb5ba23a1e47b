#!/usr/bin/env python3
"""`kubectl apply -f examples/NAME/` works for every folder of examples: one pass, in the order of the files.

A cluster of simulated nodes; exit status 77 means that kubectl is missing.
"""

import json
import os
import sys

from simulated_nodes import run_on_simulated_nodes
from waiting import Failure, check, wait_until

# In one pass over a folder: the objects of a file are there before those of the next one.
EXPECTED = {
    # The profile is there before the pod that it changes.
    "batch-resources": ("pod", "crunch", lambda pod: "kubernetes.io/batch-cpu" in pod["spec"]["containers"][0]["resources"]["requests"]),
    "profiles": ("pod", "web", lambda pod: "koordinator.sh/qosClass" in pod["metadata"].get("labels", {})),
    # The Reservation holds its resources when its owner is created.
    "reservation": ("reservation", "for-web", lambda reservation: reservation.get("status", {}).get("phase") == "Available"),
    "gang": ("podgroup", "train", lambda group: group.get("status", {}).get("phase", "") != ""),
    "quota": ("elasticquota", "team-a", lambda quota: quota.get("status", {}).get("used", {}).get("cpu", "0") != "0"),
}
# Folders that only change the ConfigMap slo-controller-config, which the cluster has.
CHANGES_ONLY = {"configuration", "cpu-ratios", "host-applications", "node-reservation", "system-strategy", "yarn"}


def folders(source):
    root = os.path.join(source, "examples")
    return [os.path.join(root, name) for name in sorted(os.listdir(root)) if os.path.isdir(os.path.join(root, name))]


def holds_in(cluster, folder, kind, of, holds):
    if holds(json.loads(cluster.kubectl("get", kind, of, "-o", "json"))):
        return True
    if kind == "pod":
        # On a busy machine the webhook of koord-manager can see the profile after the pod. A pod is changed when it is
        # created only.
        cluster.kubectl("delete", "pod", of, "--now")
        cluster.kubectl("apply", "-f", folder + "/")
    return False


def every_folder_applies(cluster, source):
    failures = []
    for folder in folders(source):
        name = os.path.basename(folder)
        try:
            check("created" in cluster.kubectl("apply", "-f", folder + "/") or name in CHANGES_ONLY, f"{name}: nothing was created")
            if name in EXPECTED:
                kind, of, holds = EXPECTED[name]
                wait_until(f"{name}: {kind} {of}", lambda: holds_in(cluster, folder, kind, of, holds))
        except Failure as failure:
            failures.append(f"{name}: {failure}")
        # A quota with pods or children cannot be deleted; it does not disturb the other examples.
        if name != "quota":
            cluster.kubectl("delete", "-f", folder + "/", "--ignore-not-found", "--wait=false")
    check(not failures, "\n".join(failures))


if __name__ == "__main__":
    sys.exit(run_on_simulated_nodes(__doc__, (every_folder_applies,), "--nodes=3"))
