#!/usr/bin/env python3
"""Odd requests against a whole cluster: koordctl up with all its components.

Queries, objects with members of the wrong kind, annotations with changed JSON, patches of four types, random bytes, odd
reviews for the webhooks, odd paths at the ports of every program. Afterwards all processes are those of the beginning,
no answer took longer than --slowest seconds, nobody has logged an exception, and an ordinary pod is placed.

The same --seed sends the same requests, each of --clients from a generator of its own. The first failure is printed with
its request. Exit status 77: this machine cannot run it.
"""

import argparse
import base64
import copy
import glob
import http.client
import json
import os
import random
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import hostile_objects as objects
from waiting import SKIP, Failure, check, wait_until

NAMESPACES = [f"hostile-{i}" for i in range(3)]
NAMES = [f"x{i}" for i in range(12)] + ["p"]
ODD = [None, True, False, 0, -1, 1, 1.5, -0.0, 1e300, 5e-324, 2**31, -2**31 - 1, 2**53 + 1, 2**63 - 1, -2**63, 2**63, 2**64,
       "", " ", "0", "-1", "1e99", "NaN", "Infinity", "9223372036854775807", "99999999999999999999Gi", "1n", "100%", "-5%",
       "101%", "abc", "A" * 300, "é\u0000\u202e", "../..", "a/b", "2026-13-45T99:99:99Z", "0001-01-01T00:00:00Z",
       "9999-12-31T23:59:59.999999999Z", "-1h", "99999999h", "1h1", [], {}, [None], [[]], {"": ""}, {"a": {"b": {"c": None}}},
       [1, "a", None, {}], {"matchLabels": None}, ["a"] * 50, {str(i): i for i in range(40)}]
ODD_TEXT = ["", "{", "[", "null", "true", "-1", "1e400", "\"", "{}", "[]", "[[[[[[]]]]]]", "{\"a\":}", "\ufffd", "{\"cpu\":-1e300}",
            "[" * 300, "NaN", "{\"cpu\":\"-5\"}", "0-99999999", "0,0,0", "-", "4294967296", "18446744073709551616"]
QUERY = {
    "limit": ["0", "1", "-1", "2.5", "abc", "99999999999999999999", ""],
    "continue": ["eyJydiI6LTF9", "eyJydiI6MS41fQ==", "x", "", "e30=", "bnVsbA=="],
    "resourceVersion": ["0", "1", "-1", "abc", "18446744073709551615", "9223372036854775807", ""],
    "resourceVersionMatch": ["Exact", "NotOlderThan", "x", ""],
    "labelSelector": ["a", "!a", "a in (b,c)", "a notin ()", "a=b,a=c", "=", "a in (", ",,,", "x" * 400, "a>1"],
    "fieldSelector": ["metadata.name=p", "spec.nodeName=", "status.phase!=Running", "x=y", "=", "metadata.namespace=kube-system"],
    "watch": ["1", "true", "0", "x", ""],
    "sendInitialEvents": ["true", "false", "x", ""],
    "allowWatchBookmarks": ["true", "false", ""],
    "timeoutSeconds": ["1", "0", "-1", "abc", "9223372036854775807", "1e9"],
    "dryRun": ["All", "Rubbish", ""],
    "fieldValidation": ["Strict", "Warn", "Ignore", "x"],
    "fieldManager": ["m", "", "x" * 200, "\u0001"],
    "force": ["true", "false", "x"],
    "propagationPolicy": ["Orphan", "Background", "Foreground", "x"],
    "gracePeriodSeconds": ["0", "-1", "1", "abc", "9223372036854775807"],
    "pretty": ["true", "x"],
    "follow": ["false"], "tailLines": ["-1", "0", "abc", "99999999999999999999"], "limitBytes": ["0", "1", "-1"],
    "sinceSeconds": ["-1", "9223372036854775807"], "sinceTime": ["x", "0001-01-01T00:00:00Z"], "container": ["c", "x"],
}
ACCEPT = ["application/json", "application/json;as=Table;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf",
          "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
          "application/yaml", "*/*", "x/y", "", "application/cbor", "text/html;q=0.1,application/json;q=xx"]
PATCHES = {"json": "application/json-patch+json", "merge": "application/merge-patch+json",
           "strategic": "application/strategic-merge-patch+json", "apply": "application/apply-patch+yaml"}
COMPONENTS = ["koord-manager", "koord-scheduler", "koord-descheduler", "koordlet"]
PAGES = ["/", "/healthz", "/readyz", "/livez", "/metrics", "/configz", "/flagz", "/statusz", "/debug/pprof/", "/debug/pprof/cmdline",
         "/debug/flags/v", "/debug/flags/s", "/debug/flags/f", "/apis/v1/__services__", "/apis/v1/plugins/NodeNUMAResource/nodes/sim-0",
         "/apis/v1/plugins/Coscheduling/gangs", "/apis/v1/plugins/Coscheduling/gang/hostile-0/g", "/apis/v1/plugins/ElasticQuota/quotas",
         "/apis/v1/plugins/ElasticQuota/quota/x", "/apis/v1/plugins/DeviceShare/nodes", "/apis/v1/plugins/Reservation/nodes/sim-0",
         "/apis/v1/plugins/LoadAwareScheduling/node/sim-0", "/apis/v1/nodes/sim-0", "/apis/v1/explain/hostile-0/p", "/apis/v1/what-if",
         "/apis/v1/simulate", "/v1/batch", "/apis/v1/nodeslospec", "/events", "/pods", "/containerLogs/hostile-0/p/c"]


def odd(rng):
    return copy.deepcopy(rng.choice(ODD))


def places(value, path=()):
    """Every member and item of a document, as paths."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield path + (key,)
            yield from places(member, path + (key,))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield path + (i,)
            yield from places(item, path + (i,))


def spoil(rng, document, kept=("apiVersion", "kind")):
    """The document with one to four members that are something else, gone, or there twice."""
    document = copy.deepcopy(document)
    for _ in range(rng.randint(1, 4)):
        all_places = [place for place in places(document) if place[0] not in kept]
        if not all_places:
            return document
        place = rng.choice(all_places)
        holder = document
        for step in place[:-1]:
            holder = holder[step]
        what = rng.random()
        if what < 0.7:
            holder[place[-1]] = odd(rng)
        elif what < 0.8:
            del holder[place[-1]]
        elif what < 0.9 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[place[-1]]))
        elif isinstance(holder, dict):
            holder[rng.choice(["", "a/b", "~1", "-", "é", "x" * 70, "cpu", "name"])] = odd(rng)
    return document


def spoiled_text(rng, value):
    """The text of an annotation: changed in its JSON, or in its bytes."""
    if rng.random() < 0.15:
        return rng.choice(ODD_TEXT)
    if not isinstance(value, str) and rng.random() < 0.7:
        return json.dumps(spoil(rng, value, ()) if isinstance(value, (dict, list)) else odd(rng))
    text = list(objects.text(value))
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(text))
        text[at:at + rng.randint(0, 3)] = rng.choice(["", "-", "9" * 20, "\"", "}", "null", "e999", "\u0000", ",", "0"])
    return "".join(text)


class Sent:
    """One request, and how it went."""

    def __init__(self, method, path, headers=None, body=None, to="api"):
        self.method, self.path, self.headers, self.body, self.to = method, path, headers or {}, body, to

    def __str__(self):
        body = self.body if isinstance(self.body, (bytes, type(None))) else self.body.encode(errors="replace")
        return f"{self.to}: {self.method} {self.path}\n  headers {self.headers}\n  body {body!r}"


class Maker:
    """Makes requests from one generator of random numbers."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def query(self, most=3):
        names = self.rng.sample(sorted(QUERY), self.rng.randint(0, most))
        pairs = [(name, self.rng.choice(QUERY[name])) for name in names]
        text = urllib.parse.urlencode(pairs, errors="replace")
        if self.rng.random() < 0.05:
            text += self.rng.choice(["%", "&&&", "%zz", "=%00", "&=&", ";a=b", "?"])
        return "?" + text if text else ""

    def collection(self):
        """(path of a collection, an object of it, whether changes are only tried)"""
        rng = self.rng
        kind = rng.random()
        if kind < 0.7:
            group, plural, document = rng.choice(objects.NAMESPACED)
            return f"/{group}/namespaces/{rng.choice(NAMESPACES)}/{plural}", document, False
        group, plural, document = rng.choice(objects.CLUSTER if kind < 0.93 else objects.TRIED_ONLY)
        return f"/{group}/{plural}", document, kind >= 0.93

    def named(self, document):
        document = copy.deepcopy(document)
        if "." not in document["metadata"]["name"]:
            document["metadata"]["name"] = self.rng.choice(NAMES)
        return document

    def reads(self):
        path, document, _ = self.collection()
        if self.rng.random() < 0.4:
            path += "/" + self.named(document)["metadata"]["name"]
            if self.rng.random() < 0.4:
                path += "/" + self.rng.choice(["status", "scale", "log", "exec", "token", "binding", "x", "", "../..", "proxy/a"])
        if self.rng.random() < 0.1:
            path = self.rng.choice(["/", "/api", "/apis", "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/apps/v1", "/version",
                                    "/metrics", "/healthz", "/readyz?verbose", "/apis/metrics.k8s.io/v1beta1/nodes", "/api/v1",
                                    "/apis/apps/v1/x", "//", "/%2e%2e", "/api/v1/watch/pods", "/x" * 200, "/é"])
            path = urllib.parse.quote(path, safe="/?%=")
        headers = {"Accept": self.rng.choice(ACCEPT)}
        if self.rng.random() < 0.05:
            headers[self.rng.choice(["Impersonate-User", "Impersonate-Group", "Content-Type", "Impersonate-Extra-a"])] = "x"
        return Sent(self.rng.choice(["GET"] * 8 + ["HEAD", "OPTIONS", "TRACE", "PROPFIND"]), path + self.query(), headers)

    def writes(self):
        path, document, tried = self.collection()
        document = self.named(document)
        name = document["metadata"]["name"]
        body = json.dumps(spoil(self.rng, document))
        if self.rng.random() < 0.35:
            status = "/status" if self.rng.random() < 0.4 else ""
            sent = Sent("PUT", f"{path}/{name}{status}", {"Content-Type": "application/json"}, body)
        else:
            sent = Sent("POST", path, {"Content-Type": "application/json"}, body)
        return self.only_tried(sent) if tried else sent

    def only_tried(self, sent):
        sent.path += "?dryRun=All"
        return sent

    def plain(self):
        """A good object, so that there is something to work on."""
        path, document, tried = self.collection()
        sent = Sent("POST", path, {"Content-Type": "application/json"}, json.dumps(self.named(document)))
        return self.only_tried(sent) if tried else sent

    def annotations(self):
        rng = self.rng
        kind = rng.random()
        if kind < 0.6:
            known, path = objects.POD_ANNOTATIONS, f"/api/v1/namespaces/{rng.choice(NAMESPACES)}/pods"
        elif kind < 0.75:
            known, path = objects.NODE_ANNOTATIONS, f"/api/v1/nodes/{rng.choice(['sim-0', 'sim-1', 'x1'])}"
        elif kind < 0.85:
            known, path = objects.TOPOLOGY_ANNOTATIONS, "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies/" + rng.choice(["sim-0", "x1"])
        elif kind < 0.95:
            known = objects.QUOTA_ANNOTATIONS
            path = f"/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{rng.choice(NAMESPACES)}/elasticquotas/{rng.choice(NAMES)}"
        else:
            data = {rng.choice(sorted(objects.SLO_CONFIG)): None}
            data = {key: spoiled_text(rng, objects.SLO_CONFIG[key]) for key in data}
            return Sent("PATCH", "/api/v1/namespaces/koordinator-system/configmaps/slo-controller-config",
                        {"Content-Type": PATCHES["merge"]}, json.dumps({"data": data}))
        chosen = rng.sample(sorted(known), rng.randint(1, 3))
        spoiled = {key: spoiled_text(rng, known[key]) for key in chosen}
        if path.endswith("/pods") and rng.random() < 0.7:
            pod = copy.deepcopy(objects.POD)
            pod["metadata"]["name"] = rng.choice(NAMES)
            pod["metadata"]["annotations"] = spoiled
            if rng.random() < 0.5:
                pod["metadata"]["labels"].update({rng.choice(["koordinator.sh/qosClass", "koordinator.sh/priority", "pod-group.scheduling.sigs.k8s.io",
                                                              "quota.scheduling.koordinator.sh/name"]): rng.choice(["LSE", "BE", "x", "-1", "g"])})
            return Sent("POST", path, {"Content-Type": "application/json"}, json.dumps(pod))
        if path.endswith("/pods"):
            path += "/" + rng.choice(NAMES)
        return Sent("PATCH", path, {"Content-Type": PATCHES["merge"]}, json.dumps({"metadata": {"annotations": spoiled}}))

    def patches(self):
        rng = self.rng
        path, document, tried = self.collection()
        document = self.named(document)
        kind = rng.choice(sorted(PATCHES))
        place = rng.choice(list(places(document)))
        if kind == "json":
            def pointer(steps):
                return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)
            body = [{"op": rng.choice(["add", "remove", "replace", "move", "copy", "test", "x"]), "path": pointer(rng.choice(list(places(document)))),
                     "value": odd(rng), "from": pointer(place)} for _ in range(rng.randint(1, 4))]
            if rng.random() < 0.2:
                body = spoil(rng, body, ())
        else:
            body = odd(rng)
            for step in reversed(place):
                body = {step: body} if isinstance(step, str) else [body]
            if kind == "apply" and isinstance(body, dict):
                body = {"apiVersion": document["apiVersion"], "kind": document["kind"], **body}
            if kind == "strategic" and rng.random() < 0.4 and isinstance(body, dict):
                body[rng.choice(["$patch", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers", "$retainKeys"])] = odd(rng)
        sub = rng.choice(["", "", "", "/status", "/scale", "/resize"])
        sent = Sent("PATCH", f"{path}/{document['metadata']['name']}{sub}", {"Content-Type": PATCHES[kind]}, json.dumps(body))
        if tried:
            return self.only_tried(sent)
        sent.path += "?fieldManager=hostile&force=true" if kind == "apply" else self.query(1)
        return sent

    def removals(self):
        path, document, tried = self.collection()
        if not tried and "/nodes" not in path and self.rng.random() < 0.1 and "/namespaces/" in path:
            sent = Sent("DELETE", path + self.query(1))
        else:
            sent = Sent("DELETE", f"{path}/{self.named(document)['metadata']['name']}")
            if not tried:
                sent.path += self.query(1)
        if self.rng.random() < 0.5:
            sent.body = json.dumps(spoil(self.rng, {"gracePeriodSeconds": 0, "propagationPolicy": "Background", "dryRun": [],
                                                    "preconditions": {"uid": "x", "resourceVersion": "1"}}, ()))
        return self.only_tried(sent) if tried and "?" not in sent.path else sent

    def subresources(self):
        rng = self.rng
        path = f"/api/v1/namespaces/{rng.choice(NAMESPACES)}/pods/{rng.choice(NAMES)}"
        body = {"binding": {"metadata": {"name": "p", "annotations": {"a": "b"}}, "target": {"kind": "Node", "name": "sim-0"}},
                "eviction": {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 0}},
                "status": {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [
                    {"name": "c", "ready": True, "restartCount": 1, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}},
                "resize": {"spec": objects.POD["spec"]}}
        name = rng.choice(sorted(body))
        method = "POST" if name in ("binding", "eviction") else "PATCH"
        return Sent(method, f"{path}/{name}", {"Content-Type": "application/json" if method == "POST" else PATCHES["merge"]},
                    json.dumps(spoil(rng, body[name], ())))

    def bytes_(self):
        rng = self.rng
        path, document, tried = self.collection()
        body = bytearray(json.dumps(self.named(document)).encode())
        if rng.random() < 0.3:
            body = bytearray(rng.randbytes(rng.randint(0, 2000)))
        for _ in range(rng.randint(1, 8)):
            if body:
                body[rng.randrange(len(body))] = rng.randrange(256)
        if rng.random() < 0.3:
            body = bytearray(b"k8s\0") + body
        sent = Sent(rng.choice(["POST", "PUT", "PATCH", "DELETE"]), path + ("" if rng.random() < 0.7 else "/x1"), {
            "Content-Type": rng.choice([*PATCHES.values(), "application/json", "application/vnd.kubernetes.protobuf", "application/yaml",
                                        "text/plain", "", "application/cbor"])}, bytes(body))
        if sent.method == "DELETE" or tried:
            sent.path += "?dryRun=All"
        return sent

    def pages(self):
        rng = self.rng
        path = rng.choice(PAGES)
        if rng.random() < 0.3:
            path += rng.choice(["/", "//", "/x", "/%2e%2e", "?a=%", "?" + "x" * 3000, "/-1", "?seconds=abc", "?seconds=-1", "/%00"])
        if "pprof" in path and "?" not in path:
            path += "?seconds=1"
        path = path.replace("seconds=abc", "seconds=0")
        body = None
        method = rng.choice(["GET"] * 6 + ["POST", "PUT", "DELETE", "HEAD"])
        if "/debug/flags/" in path:
            method, path = "GET", path.split("/debug/flags")[0] + "/debug/flags/v"
        if method in ("POST", "PUT"):
            body = json.dumps(spoil(rng, {"pods": [{"namespace": "hostile-0", "name": "p"}], "node": "sim-0", "moves": [
                {"pod": "hostile-0/p", "from": "sim-0"}], "pod": objects.POD}, ()))
        return Sent(method, path, {"Content-Type": "application/json"}, body, to="page")

    def reviews(self):
        rng = self.rng
        document = self.named(rng.choice(objects.NAMESPACED + objects.CLUSTER)[2])
        group, _, version = document["apiVersion"].rpartition("/")
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "kind": {"group": group, "version": version, "kind": document["kind"]},
            "resource": {"group": group, "version": version, "resource": document["kind"].lower() + "s"},
            "name": "x", "namespace": "hostile-0", "operation": rng.choice(["CREATE", "UPDATE", "DELETE", "CONNECT"]),
            "userInfo": {"username": "u"}, "object": spoil(rng, document), "oldObject": spoil(rng, document) if rng.random() < 0.5 else None}}
        if rng.random() < 0.4:
            review = spoil(rng, review, ())
        path = rng.choice(["/mutate-pod", "/validate-pod", "/mutate-node-status", "/validate-node", "/validate-configmap", "/validate-take-over",
                           "/mutate-reservation", "/validate-reservation", "/mutate-scheduling-sigs-k8s-io-v1alpha1-elasticquota", "/convert",
                           "/validate-scheduling-sigs-k8s-io-v1alpha1-elasticquota", "/validate-pods-binding", "/x"])
        return Sent("POST", path, {"Content-Type": "application/json"}, json.dumps(review), to="webhook")

    def next(self):
        ways = {self.reads: 22, self.writes: 22, self.plain: 8, self.annotations: 18, self.patches: 16, self.removals: 6,
                self.subresources: 7, self.bytes_: 6, self.pages: 4, self.reviews: 3}
        return self.rng.choices(list(ways), list(ways.values()))[0]()


class Cluster:
    def __init__(self, options, folder):
        self.folder, self.options = folder, options
        self.data = os.path.join(folder, "data")
        self.kubeconfig = os.path.join(folder, "kubeconfig")
        self.process = None

    def start(self):
        command = [os.path.join(self.options.programs, "koordctl"), "up", "--quiet", "--data-dir", self.data, "--nodes", "3",
                   "--kubeconfig", self.kubeconfig, "--listen", "127.0.0.1:0", "--host-node", self.options.host_node]
        self.errors = open(os.path.join(self.folder, "stderr"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        line = self.process.stdout.readline()
        check(line == "ready\n", f"koordctl up said {line!r}: {self.log_tail()}")
        with open(self.kubeconfig, encoding="utf-8") as file:
            config = file.read()
        self.address = re.search(r"server: https://(\S+)", config).group(1)
        self.tls = ssl.create_default_context(cadata=self.decoded(config, "certificate-authority-data"))
        for name in ("client-certificate-data", "client-key-data"):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(self.decoded(config, name))
        self.tls.load_cert_chain(os.path.join(self.folder, "client-certificate-data"), os.path.join(self.folder, "client-key-data"))
        self.careless = ssl.create_default_context()
        self.careless.check_hostname = False
        self.careless.verify_mode = ssl.CERT_NONE

    @staticmethod
    def decoded(config, name):
        return base64.b64decode(re.search(name + r": \"?([A-Za-z0-9+/=]+)", config).group(1)).decode()

    def processes(self):
        """The process of each program of this cluster, by name."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    command = file.read().split(b"\0")
            except OSError:
                continue
            program = os.path.basename(command[0]).decode(errors="replace")
            if int(pid) == self.process.pid or (program in COMPONENTS and any(self.data.encode() in part for part in command)):
                found[program] = int(pid)
        return found

    def ports(self, pid):
        """TCP ports that a process listens at."""
        inodes = set()
        for fd in glob.glob(f"/proc/{pid}/fd/*"):
            try:
                inodes.update(re.findall(r"socket:\[(\d+)\]", os.readlink(fd)))
            except OSError:
                continue
        found = set()
        for table in ("tcp", "tcp6"):
            with open(f"/proc/{pid}/net/{table}", encoding="ascii") as file:
                for line in file.readlines()[1:]:
                    parts = line.split()
                    if parts[3] == "0A" and parts[9] in inodes:
                        found.add(int(parts[1].rpartition(":")[2], 16))
        return sorted(found)

    def log_tail(self, pattern=None, lines=15):
        out = ""
        for name in sorted(glob.glob(os.path.join(self.data, "logs", "*"))) + [os.path.join(self.folder, "stderr")]:
            with open(name, encoding="utf-8", errors="replace") as file:
                chosen = [line for line in file if not pattern or re.search(pattern, line)][-lines:]
            if chosen:
                out += f"\n--- {os.path.basename(name)}\n" + "".join(chosen)
        return out

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise Failure("koordctl up did not end within a minute") from None
        check(self.process.returncode == 0, f"koordctl up ended with status {self.process.returncode}")


class Client(threading.Thread):
    """Sends requests of one generator, one after the other."""

    def __init__(self, run, number, count):
        super().__init__(daemon=True)
        self.run_, self.count = run, count
        self.maker = Maker(run.options.seed * 1000 + number)
        self.connections = {}
        self.statuses = {}
        self.slowest = 0.0

    def connect(self, to):
        cluster = self.run_.cluster
        if to == "api":
            return http.client.HTTPSConnection(cluster.address, context=cluster.tls, timeout=30)
        host, port, tls = to
        if tls:
            return http.client.HTTPSConnection(host, port, context=cluster.careless, timeout=30)
        return http.client.HTTPConnection(host, port, timeout=30)

    def target(self, sent):
        if sent.to == "api":
            return "api"
        if sent.to == "webhook":
            return self.run_.webhook
        return self.maker.rng.choice(self.run_.pages) if self.run_.pages else "api"

    def exchange(self, sent, to):
        """(status, body) of the answer; of a stream only the beginning. None: the connection was closed."""
        for attempt in range(2):
            connection = self.connections.get(to) or self.connections.setdefault(to, self.connect(to))
            try:
                body = sent.body.encode(errors="replace") if isinstance(sent.body, str) else sent.body
                connection.request(sent.method, sent.path, body=body, headers=sent.headers)
                answer = connection.getresponse()
                if answer.getheader("Transfer-Encoding") == "chunked":
                    self.connections.pop(to).close()
                    return answer.status, b""
                return answer.status, answer.read()
            except (http.client.HTTPException, ConnectionError, ssl.SSLError, BrokenPipeError):
                self.connections.pop(to).close()
        return None, b""

    def run(self):
        try:
            for _ in range(self.count):
                if self.run_.failure:
                    return
                self.one()
        except Exception as error:  # a failure of the test itself
            self.run_.fail(f"{type(error).__name__}: {error}")

    def one(self):
        sent = self.maker.next()
        to = self.target(sent)
        begun = time.monotonic()
        try:
            status, body = self.exchange(sent, to)
        except (http.client.InvalidURL, ValueError, UnicodeError):
            return  # what Python does not send
        except TimeoutError:
            return self.run_.fail(f"no answer within 30 s\n{sent}")
        took = time.monotonic() - begun
        self.slowest = max(self.slowest, took)
        self.statuses[status] = self.statuses.get(status, 0) + 1
        profiling = "pprof" in sent.path
        if took > self.run_.options.slowest and not profiling:
            self.run_.fail(f"the answer took {took:.1f} s, status {status}\n{sent}")
        if b"unexpected exception" in body:
            self.run_.fail(f"status {status}: {body[:300]!r}\n{sent}")
        if status is None and to == "api" and self.run_.cluster.process.poll() is not None:
            self.run_.fail(f"the API server ended\n{sent}")


class Run:
    def __init__(self, options, cluster):
        self.options, self.cluster = options, cluster
        self.failure = None
        self.lock = threading.Lock()

    def fail(self, why):
        with self.lock:
            self.failure = self.failure or why

    def call(self, method, path, body=None, kind="application/json"):
        client = Client(self, 0, 0)
        status, answer = client.exchange(Sent(method, path, {"Content-Type": kind}, json.dumps(body) if body is not None else None), "api")
        return status, json.loads(answer) if answer else None

    def prepare(self):
        for name in NAMESPACES + ["ordinary"]:
            self.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        self.begun = self.cluster.processes()
        expected = {"koordctl", "koord-manager", "koord-scheduler", "koord-descheduler"}
        check(expected <= set(self.begun), f"only {sorted(self.begun)} run")
        self.pages, self.webhook = [], "api"
        for program, pid in sorted(self.begun.items()):
            for port in self.cluster.ports(pid):
                if program != "koordctl":
                    self.pages += [("127.0.0.1", port, tls) for tls in (False, True) if self.speaks(port, tls)]
        for to in self.pages:
            if to[2] and self.answers_reviews(to):
                self.webhook = to
        check(self.pages, "no program listens")

    def speaks(self, port, tls):
        client = Client(self, 0, 0)
        try:
            return client.exchange(Sent("GET", "/healthz"), ("127.0.0.1", port, tls))[0] is not None
        except OSError:
            return False

    def answers_reviews(self, to):
        return Client(self, 0, 0).exchange(Sent("POST", "/mutate-pod", {}, "{}"), to)[0] == 200

    def watch_processes(self, clients):
        while any(client.is_alive() for client in clients) and not self.failure:
            time.sleep(0.5)
            self.check_processes()

    def check_processes(self):
        now = self.cluster.processes() if self.cluster.process.poll() is None else {}
        for program, pid in self.begun.items():
            if now.get(program) != pid:
                self.fail(f"{program} (pid {pid}) has ended")

    def aftermath(self):
        """The cluster still works: an ordinary pod finds its node."""
        for name in ("x1", "x2", "x3"):  # what an odd node may hold
            self.call("DELETE", f"/api/v1/nodes/{name}")
        for namespace in NAMESPACES:
            self.call("DELETE", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0")
        # A profile that asks for the impossible rightly refuses pods, until the webhook has seen that it is deleted.
        self.call("DELETE", "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles")
        pod = {"metadata": {"name": "last"}, "spec": {"schedulerName": "koord-scheduler", "tolerations": [{"operator": "Exists"}],
                                                      "containers": [{"name": "c", "image": "busybox"}]}}
        wait_until("an ordinary pod is accepted",
                   lambda: self.call("POST", "/api/v1/namespaces/ordinary/pods", pod)[0] == 201, 10)
        wait_until("an ordinary pod is placed", lambda: self.call("GET", "/api/v1/namespaces/ordinary/pods/last")[1]["spec"].get("nodeName"), 60)

    def go(self):
        self.prepare()
        begun = time.monotonic()
        clients = [Client(self, i, self.options.requests // self.options.clients) for i in range(self.options.clients)]
        for client in clients:
            client.start()
        self.watch_processes(clients)
        for client in clients:
            client.join(timeout=60)
        self.check_processes()
        took = time.monotonic() - begun
        statuses = {}
        for client in clients:
            for status, count in client.statuses.items():
                statuses[status] = statuses.get(status, 0) + count
        counts = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items(), key=str))
        print(f"{sum(statuses.values())} answers in {took:.0f} s; slowest {max(client.slowest for client in clients):.2f} s; {counts}")
        if not self.failure:
            self.aftermath()
            self.check_processes()
        if not self.failure and (thrown := self.cluster.log_tail("unexpected exception|terminate called")):
            self.fail("an exception was logged:" + thrown)
        if self.failure:
            raise Failure(self.failure)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--source")
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--slowest", type=float, default=2.0, help="seconds that an answer may take")
    parser.add_argument("--host-node", default="off", help="as koordctl up; on needs root")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = 1
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="koord-hostile-") as folder:
        cluster = Cluster(options, folder)
        try:
            cluster.start()
            Run(options, cluster).go()
            cluster.stop()
        except Failure as failure:
            print(f"FAILED with --seed {options.seed}: {failure}\n{cluster.log_tail()}", file=sys.stderr)
            return 1
        finally:
            if cluster.process and cluster.process.poll() is None:
                cluster.process.terminate()
                cluster.process.wait(timeout=60)
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
