"""A small client of kube-apiserver: requests, and local copies of what is watched. Standard library only."""

import base64
import http.client
import json
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

# Where each kind lives: group and version, plural, and whether it is in a namespace.
KINDS = {
    "Namespace": ("/api/v1", "namespaces", False),
    "Node": ("/api/v1", "nodes", False),
    "Pod": ("/api/v1", "pods", True),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Service": ("/api/v1", "services", True),
    "ReplicaSet": ("/apis/apps/v1", "replicasets", True),
    "StatefulSet": ("/apis/apps/v1", "statefulsets", True),
    "ReplicationController": ("/api/v1", "replicationcontrollers", True),
    "PersistentVolume": ("/api/v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims", True),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "RuntimeClass": ("/apis/node.k8s.io/v1", "runtimeclasses", False),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets", True),
    "StorageClass": ("/apis/storage.k8s.io/v1", "storageclasses", False),
    "CSINode": ("/apis/storage.k8s.io/v1", "csinodes", False),
    "CSIDriver": ("/apis/storage.k8s.io/v1", "csidrivers", False),
    "CSIStorageCapacity": ("/apis/storage.k8s.io/v1", "csistoragecapacities", True),
    "VolumeAttachment": ("/apis/storage.k8s.io/v1", "volumeattachments", False),
    "ResourceClaim": ("/apis/resource.k8s.io/v1", "resourceclaims", True),
    "ResourceClaimTemplate": ("/apis/resource.k8s.io/v1", "resourceclaimtemplates", True),
    "ResourceSlice": ("/apis/resource.k8s.io/v1", "resourceslices", False),
    "DeviceClass": ("/apis/resource.k8s.io/v1", "deviceclasses", False),
    "PodGroup": ("/apis/scheduling.sigs.k8s.io/v1alpha1", "podgroups", True),
    "ElasticQuota": ("/apis/scheduling.sigs.k8s.io/v1alpha1", "elasticquotas", True),
    "ElasticQuotaProfile": ("/apis/quota.koordinator.sh/v1alpha1", "elasticquotaprofiles", True),
    "Reservation": ("/apis/scheduling.koordinator.sh/v1alpha1", "reservations", False),
    "Device": ("/apis/scheduling.koordinator.sh/v1alpha1", "devices", False),
    "NodeSLO": ("/apis/slo.koordinator.sh/v1alpha1", "nodeslos", False),
    "ClusterColocationProfile": ("/apis/config.koordinator.sh/v1alpha1", "clustercolocationprofiles", False),
    "NodeMetric": ("/apis/slo.koordinator.sh/v1alpha1", "nodemetrics", False),
    "NodeResourceTopology": ("/apis/topology.node.k8s.io/v1alpha1", "noderesourcetopologies", False),
    "Event": ("/apis/events.k8s.io/v1", "events", True),
}
API_VERSIONS = {kind: path.removeprefix("/apis/").removeprefix("/api/") for kind, (path, _, _) in KINDS.items()}


class ApiError(Exception):
    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


class Cluster:
    """Requests to one API server; each thread has a connection of its own."""

    def __init__(self, kubeconfig):
        config = json.loads(subprocess.run(
            ["kubectl", "config", "view", "--raw", "--flatten", "--minify", "-o", "json", "--kubeconfig", kubeconfig],
            check=True, capture_output=True).stdout)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        server = urllib.parse.urlsplit(cluster["server"])
        self.address = (server.hostname, server.port or 443)
        authority = cluster.get("certificate-authority-data")
        self.tls = ssl.create_default_context(cadata=base64.b64decode(authority).decode() if authority else None)
        self.headers = {}
        if "token" in user:
            self.headers["Authorization"] = "Bearer " + user["token"]
        if "client-certificate-data" in user:
            with tempfile.NamedTemporaryFile() as pem:
                for key in ("client-certificate-data", "client-key-data"):
                    pem.write(base64.b64decode(user[key]) + b"\n")
                pem.flush()
                self.tls.load_cert_chain(pem.name)
        self.local = threading.local()

    def connect(self, timeout=30):
        return http.client.HTTPSConnection(*self.address, context=self.tls, timeout=timeout)

    def request(self, verb, path, body=None, content="application/json"):
        text = None if body is None else json.dumps(body)
        for attempt in range(5):
            connection = getattr(self.local, "connection", None) or self.connect()
            self.local.connection = connection
            try:
                connection.request(verb, path, text, {**self.headers, "Content-Type": content})
                response = connection.getresponse()
                answer = response.read()
                if response.status != 429 or attempt == 4:
                    break
                time.sleep(1)  # a custom kind whose storage is being made ready
            except (OSError, http.client.HTTPException):
                connection.close()
                self.local.connection = None
                if attempt >= 2:
                    raise
        value = json.loads(answer) if answer else {}
        if response.status >= 300:
            raise ApiError(response.status, value.get("message", "") if isinstance(value, dict) else "")
        return value

    @staticmethod
    def path(kind, namespace=None, name=None, subresource=None):
        prefix, plural, namespaced = KINDS[kind]
        parts = [prefix] + (["namespaces", namespace] if namespaced and namespace else []) + [plural]
        return "/".join(parts + [part for part in (name, subresource) if part])

    def path_of(self, thing, subresource=None):
        meta = thing["metadata"]
        return self.path(thing["kind"], meta.get("namespace"), meta["name"], subresource)

    def create(self, thing):
        """Creates the object, and then gives it the status that it was written with."""
        body = {"apiVersion": API_VERSIONS[thing["kind"]], **thing}
        made = self.request("POST", self.path(thing["kind"], thing["metadata"].get("namespace")), body)
        if "status" in thing and thing["kind"] != "Node":
            made = self.patch(thing, {"status": thing["status"]}, "status")
        return {"kind": thing["kind"], **made}

    def patch(self, thing, change, subresource=None, kind="merge"):
        return self.request("PATCH", self.path_of(thing, subresource), change, f"application/{kind}-patch+json")

    def delete(self, thing, finalizers=False):
        """Deletes at once; nobody here waits for kubelets, nor for controllers that hold finalizers."""
        try:
            if finalizers:
                self.patch(thing, {"metadata": {"finalizers": None}})
            self.request("DELETE", self.path_of(thing), {"gracePeriodSeconds": 0})
        except ApiError as error:
            if error.code != 404:
                raise

    def list(self, kind):
        items = self.request("GET", self.path(kind))
        return [{"kind": kind, **item} for item in items["items"]], items["metadata"]["resourceVersion"]


class Store:
    """The objects of some kinds as watches tell of them. Handlers run in the watching threads, under the lock."""

    def __init__(self, cluster, kinds, handler):
        self.cluster = cluster
        self.handler = handler
        self.changed = threading.Condition()
        self.objects = {}  # (kind, namespace, name) -> object
        for kind in kinds:
            items, version = cluster.list(kind)
            for item in items:
                self.take(kind, "ADDED", item)
            threading.Thread(target=self.watch, args=(kind, version), daemon=True).start()

    def take(self, kind, event, item):
        item["kind"] = kind
        key = (kind, item["metadata"].get("namespace"), item["metadata"]["name"])
        with self.changed:
            if event == "DELETED":
                self.objects.pop(key, None)
            else:
                self.objects[key] = item
            self.handler(event, item)
            self.changed.notify_all()

    def watch(self, kind, version):
        while True:
            connection = self.cluster.connect(timeout=None)
            connection.request("GET", f"{Cluster.path(kind)}?watch=true&resourceVersion={version}",
                               headers=self.cluster.headers)
            for line in connection.getresponse():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise ApiError(410, f"watch of {kind}: {event['object'].get('message')}")
                version = event["object"]["metadata"]["resourceVersion"]
                self.take(kind, event["type"], event["object"])
            connection.close()

    def get(self, kind, namespace, name):
        with self.changed:
            return self.objects.get((kind, namespace, name))

    def wait(self, condition, limit):
        """Waits until condition() is true of the store, and returns its last value."""
        end = time.monotonic() + limit
        with self.changed:
            while not (value := condition()):
                left = end - time.monotonic()
                if left <= 0:
                    return value
                self.changed.wait(left)
            return value
