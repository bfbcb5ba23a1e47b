#!/usr/bin/env python3
"""What `kubectl get`, `describe` and `explain` say of Koordinator's kinds and of the core types.

A cluster of simulated nodes with GPUs; exit status 77 means that kubectl is missing.
"""

import re
import sys

from simulated_nodes import run_on_simulated_nodes
from waiting import check, wait_until

# The columns of a plain `kubectl get`, and those that `-o wide` adds. Upstream's come first.
COLUMNS = {
    "nodemetrics": ("NAME AGE CPU MEMORY UPDATED PODS", "SYSTEM-CPU SYSTEM-MEMORY RECLAIMABLE-CPU RECLAIMABLE-MEMORY"),
    "nodeslos": ("NAME AGE SUPPRESS THRESHOLD CPU-BURST", "POLICY MEMORY-EVICT CPU-EVICT HOST-APPLICATIONS"),
    "devices": ("NAME AGE MODEL GPU-MEMORY DEVICES BROKEN", "UNHEALTHY DRIVER ALLOCATIONS"),
    "elasticquotas": ("NAME AGE CPU MIN-CPU MAX-CPU MEMORY MIN-MEMORY MAX-MEMORY", "PARENT USED REQUEST RUNTIME"),
    "reservations": ("NAME PHASE AGE NODE TTL EXPIRES", "ALLOCATABLE ALLOCATED OWNER REASON"),
    "podmigrationjobs": ("NAME PHASE STATUS AGE NODE RESERVATION PODNAMESPACE POD NEWPOD TTL", "PLANNED MESSAGE REASON MODE"),
    "recommendations": ("NAME AGE TYPE KIND NAME CPU MEMORY CONFIDENCE LASTUPDATETIME",
                        "CONTAINER LOWER-CPU UPPER-CPU LOWER-MEMORY UPPER-MEMORY PROBLEM"),
    "podgroups": ("NAME AGE PHASE MIN-MEMBER SCHEDULED", "RUNNING SUCCEEDED FAILED"),
    "clustercolocationprofiles": ("NAME AGE QOS PRIORITY SCHEDULER", "SELECTOR NAMESPACES"),
}

# One object of each kind that the cluster does not have by itself.
OBJECTS = """
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: Reservation
metadata: {name: kept}
spec:
  ttl: 1h
  owners: [{labelSelector: {matchLabels: {app: web}}}]
  template:
    spec:
      schedulerName: koord-scheduler
      containers:
      - {name: main, image: busybox, resources: {requests: {cpu: "2"}}}
---
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: PodMigrationJob
metadata: {name: nowhere}
spec:
  podRef: {namespace: default, name: nobody}
---
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: PodGroup
metadata: {name: train}
spec: {minMember: 3}
---
apiVersion: config.koordinator.sh/v1alpha1
kind: ClusterColocationProfile
metadata: {name: batch}
spec:
  selector: {matchLabels: {tier: batch}}
  qosClass: BE
  priorityClassName: koord-batch
---
apiVersion: analysis.koordinator.sh/v1alpha1
kind: Recommendation
metadata: {name: web}
spec:
  target:
    type: workload
    workload: {apiVersion: apps/v1, kind: Deployment, name: web}
"""

KINDS = ("pod node deployment replicaset statefulset daemonset job cronjob service configmap secret namespace event "
         "persistentvolumeclaim priorityclass poddisruptionbudget").split()


def cells(cluster, kind, name, *options):
    """The header and the row of an object, cut where the columns of the header begin."""
    lines = cluster.kubectl("get", kind, "-A", *options).splitlines()
    header = lines[0]
    starts = [match.start() for match in re.finditer(r"\S+", header)]
    row = next(line for line in lines[1:] if re.search(rf"(^|\s){re.escape(name)}\s", line))
    cut = lambda line: [line[start:end].strip() for start, end in zip(starts, starts[1:] + [None])]
    return list(zip(cut(header), cut(row)))


def cell(cluster, kind, name, column, *options):
    return dict(cells(cluster, kind, name, *options)).get(column)


def columns(cluster, _source):
    for kind, (plain, wide) in COLUMNS.items():
        for options, want in (((), plain.split()), (("-o", "wide"), plain.split() + wide.split())):
            head = cluster.kubectl("get", kind, "-A", *options).splitlines()[0].split()
            got = [word for word in head if word != "NAMESPACE"]
            # Computed columns come after those of the definition.
            check(sorted(got) == sorted(want), f"{kind} {options}: {got} instead of {want}")
            own = [word for word in plain.split() if word not in ("PODS", "DEVICES", "BROKEN")]
            check(got[:len(own)] == own, f"{kind}: {got} begins with {own}")


def values(cluster, _source):
    cluster.kubectl("apply", "-f", "-", stdin=OBJECTS)
    wait_until("usage of a node", lambda: cell(cluster, "nodemetrics", "gpu-0", "CPU") == "100m")
    check(re.fullmatch(r"\d+[smh].*", cell(cluster, "nodemetrics", "gpu-0", "UPDATED")), "the age of a report")
    wait_until("devices", lambda: cell(cluster, "devices", "gpu-0", "DEVICES") == "8 gpu, 4 rdma")
    check(cell(cluster, "devices", "gpu-0", "BROKEN") == "0", "no device is broken")
    check(cell(cluster, "nodeslos", "gpu-0", "SUPPRESS") in ("true", "false"), "whether BE pods are suppressed")
    wait_until("a reservation", lambda: cell(cluster, "reservations", "kept", "PHASE") == "Available")
    check(cell(cluster, "reservations", "kept", "ALLOCATABLE", "-o", "wide") == '{"cpu":"2"}', "what is reserved")
    wait_until("a failed job", lambda: cell(cluster, "podmigrationjobs", "nowhere", "PHASE") == "Failed")
    check(cell(cluster, "podmigrationjobs", "nowhere", "REASON", "-o", "wide"), "why a job failed")
    check(cell(cluster, "podgroups", "train", "MIN-MEMBER") == "3", "the members of a gang")
    check(cell(cluster, "clustercolocationprofiles", "batch", "QOS") == "BE", "the class of a profile")
    # Those of koord-scheduler itself.
    wait_until("quotas", lambda: cluster.get("elasticquotas", "-A")["items"])


def descriptions(cluster, _source):
    for kind in COLUMNS:
        text = cluster.kubectl("describe", kind, "-A")
        check("Name:" in text and "Kind:" in text, f"describe {kind}: {text[:200]}")
        check("managedFields" not in text and "Managed Fields" not in text, f"describe {kind} shows managed fields")
        longest = max(len(line) for line in text.splitlines())
        check(longest < 400, f"describe {kind}: a line of {longest} characters")


def words(cluster, _source):
    empty = re.compile(r"DESCRIPTION:\s*<empty>")
    for kind in KINDS:
        for path in (kind, f"{kind}.metadata"):
            check(not empty.search(cluster.kubectl("explain", path)), f"explain {path} has no words")
    for path, text in (("pod.spec.containers.resources.requests", "batch-cpu"),
                       ("deployment.spec.strategy.rollingUpdate.maxSurge", "25%"),
                       ("cronjob.spec.schedule", "cron"), ("node.status.allocatable", "batch-cpu"),
                       ("nodemetric.status.nodeMetric", ""), ("reservation.spec.owners", "")):
        said = cluster.kubectl("explain", path)
        check(text in said and not empty.search(said), f"explain {path}: {said}")
    # Each field in the list of a spec has words below it.
    for kind in ("pod", "deployment", "job", "service"):
        said = cluster.kubectl("explain", f"{kind}.spec")
        fields = said[said.index("FIELDS:"):]
        check("<no description>" not in fields, f"explain {kind}.spec: {fields}")


if __name__ == "__main__":
    sys.exit(run_on_simulated_nodes(__doc__, (values, columns, descriptions, words), "--nodes=1",
                                    "--node-shape={source}/deploy/node-shapes/eight-gpus.yaml"))
