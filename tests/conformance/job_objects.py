"""The objects of worlds that jobs.py plays, on the server: made, changed, cleared away, and what was given to them."""

import datetime
import json

from cluster import ApiError

KINDS = ["Pod", "PodDisruptionBudget", "Reservation", "PodGroup", "ElasticQuota", "Node", "Device", "NodeResourceTopology", "NodeMetric"]
GIVEN = "scheduling.koordinator.sh/"


def holds(item):
    """The CPUs and devices that a pod or reservation has, in words; None when there are none."""
    notes = item["metadata"].get("annotations", {})
    status = json.loads(notes.get(GIVEN + "resource-status", "{}"))
    devices = json.loads(notes.get(GIVEN + "device-allocated", "{}"))
    given = {kind: [(each["minor"], each["resources"]) for each in each_kind] for kind, each_kind in devices.items()}
    return json.dumps([status, given], sort_keys=True) if status or given else None


def apply(cluster, verb, item, change):
    try:
        if item["kind"] == "NodeMetric":
            now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            item = {**item, "status": {**item["status"], "updateTime": now}}
        if verb == "create":
            cluster.create(item)
            if item["kind"] == "Node":  # born with taints where its controllers are to look first
                cluster.patch(item, {"spec": {"taints": None}})
        elif verb == "delete":
            cluster.delete(item)
        elif verb == "status":
            cluster.patch(item, {"status": item["status"]}, "status")
        else:
            cluster.patch(item, change)
    except ApiError as error:
        if error.code not in (404, 409):
            raise


def clear(cluster):
    for kind in KINDS:
        left = [item for item in cluster.list(kind)[0] if "sbs" in item["metadata"].get("labels", {})]
        while left:
            refused = []  # quotas that others are below go after them
            for item in left:
                try:
                    cluster.delete(item, "finalizers" in item["metadata"])
                except ApiError:
                    refused.append(item)
            if len(refused) == len(left):
                raise SystemExit(f"{kind} {left[0]['metadata']['name']} cannot be deleted")
            left = refused
