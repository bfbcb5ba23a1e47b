"""The controllers of resource claims that the test cluster lacks: kube-controller-manager's claim controller, and a driver that reports
devices as ready for binding.
"""

import threading

from cluster import ApiError

POD_CLAIM = "resource.kubernetes.io/pod-claim-name"


def claim_names(pod):
    """The names of the claims that a pod uses, by the entry of spec.resourceClaims."""
    generated = {status["name"]: status.get("resourceClaimName") for status in pod.get("status", {}).get("resourceClaimStatuses", [])}
    return {entry["name"]: entry.get("resourceClaimName") or generated.get(entry["name"]) for entry in pod["spec"].get("resourceClaims", [])}


class ClaimController:
    """Works on the objects of a store that has Pods, ResourceClaims and ResourceClaimTemplates, in a thread of its own. Call wake.set() after
    changes."""

    def __init__(self, cluster, store):
        self.cluster, self.store = cluster, store
        self.wake = threading.Event()
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while True:
            self.wake.wait()
            self.wake.clear()
            with self.store.changed:
                objects = list(self.store.objects.values())
            pods = {item["metadata"]["uid"]: item for item in objects if item["kind"] == "Pod"}
            templates = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in objects
                         if item["kind"] == "ResourceClaimTemplate"}
            for pod in pods.values():
                self.attempt(self.create_claims, pod, templates)
            for item in objects:
                if item["kind"] == "ResourceClaim":
                    self.attempt(self.release, item, pods)
                    self.attempt(self.report_ready, item)

    @staticmethod
    def attempt(function, *arguments):
        try:
            function(*arguments)
        except ApiError as error:
            if error.code not in (404, 409):  # deleted, or changed and delivered again soon
                raise

    def create_claims(self, pod, templates):
        meta, statuses = pod["metadata"], []
        for entry in pod["spec"].get("resourceClaims", []):
            template = templates.get((meta["namespace"], entry.get("resourceClaimTemplateName")))
            if not template or claim_names(pod)[entry["name"]]:
                continue
            name = f"{meta['name']}-{entry['name']}"
            owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"], "controller": True}
            claim = {"kind": "ResourceClaim", "spec": template["spec"]["spec"], "metadata": {
                "name": name, "namespace": meta["namespace"], "annotations": {POD_CLAIM: entry["name"]}, "ownerReferences": [owner]}}
            try:
                self.cluster.create(claim)
            except ApiError as error:
                if error.code != 409:
                    raise
            statuses.append({"name": entry["name"], "resourceClaimName": name})
        if statuses and not meta.get("deletionTimestamp"):
            self.cluster.patch(pod, {"status": {"resourceClaimStatuses": statuses}}, "status", "strategic-merge")

    def release(self, claim, pods):
        """Removes pods that do not exist from reservedFor, releases the devices after the last one, and deletes claims of such pods."""
        meta, status = claim["metadata"], claim.get("status", {})
        users = status.get("reservedFor", [])
        left = [user for user in users if user["uid"] in pods]
        owners = meta.get("ownerReferences", [])
        unowned = any(owner["uid"] not in pods for owner in owners)
        if unowned and not users and "allocation" not in status:
            return self.cluster.delete(claim, "finalizers" in meta)
        if len(left) == len(users) and not (unowned and not left):
            return None
        change = {"reservedFor": left or None, **({} if left else {"allocation": None, "devices": None})}
        return self.cluster.patch(claim, {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": change}, "status")

    def report_ready(self, claim):
        status = claim.get("status", {})
        results = status.get("allocation", {}).get("devices", {}).get("results", [])
        waiting = [result for result in results if result.get("bindingConditions")]
        if not waiting or status.get("devices"):
            return
        devices = [{**{key: result[key] for key in ("driver", "pool", "device", "shareID") if key in result}, "conditions": [
            {"type": kind, "status": "True", "reason": "Driver", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            for kind in result["bindingConditions"]]} for result in waiting]
        self.cluster.patch(claim, {"metadata": {"resourceVersion": claim["metadata"]["resourceVersion"]}, "status": {"devices": devices}}, "status")
