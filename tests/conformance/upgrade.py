#!/usr/bin/env python3
"""From upstream's release to this one, in place, on a real kube-apiserver.

    upgrade.py --apiserver FILE --etcd FILE --programs build/release/bin --manager FILE --from UPSTREAM.yaml

UPSTREAM.yaml is what `helm template koordinator CHART -n koordinator-system` makes of upstream's chart, --manager is upstream's
koord-manager, which works in that cluster for a while: nodes with batch resources, pods, quotas, certificates. Then the objects of
`deploy` (or those that --render prints) are applied over it as `helm upgrade` does, what is not among them any more is removed, and
koord-manager takes the place of upstream's. Nothing that runs may change, nothing may be refused or left over. As root.
"""

import argparse
import datetime
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from kube_apiserver import NAMESPACE, SOURCE, KubeApiserver, free_port  # noqa: E402
from waiting import Failure, check, wait_until  # noqa: E402

NODES = ("small", "large")
PROFILE = {"apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": "batch"},
           "spec": {"namespaceSelector": {}, "selector": {"matchLabels": {"tier": "batch"}}, "qosClass": "BE",
                    "priorityClassName": "koord-batch", "labels": {"mutated": "yes"}}}
# What Helm makes before the others, and last since nobody answers yet.
FIRST = ("Namespace", "CustomResourceDefinition", "PriorityClass", "ServiceAccount", "Secret", "ConfigMap", "ClusterRole", "Role")
LAST = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def key_of(thing):
    meta = thing["metadata"]
    return thing["kind"], meta.get("namespace", ""), meta["name"]


def kept(before, now):
    """Whether all that was said is still said; a newer schema may have more to say."""
    if isinstance(before, dict) and isinstance(now, dict):
        return all(name in now and kept(value, now[name]) for name, value in before.items())
    if isinstance(before, (list, tuple)) and isinstance(now, (list, tuple)):
        return len(before) == len(now) and all(map(kept, before, now))
    return before == now


def pod(name, node=None):
    spec = {"containers": [{"name": "main", "image": "busybox", "resources": {
        "requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}}]}
    return {"apiVersion": "v1", "kind": "Pod", "spec": {**spec, **({"nodeName": node} if node else {})},
            "metadata": {"name": name, "namespace": "work", "labels": {"tier": "batch"}}}


class Upgraded(KubeApiserver):
    def __init__(self, options, folder):
        super().__init__(options.programs, folder, options.apiserver, options.etcd)
        self.chosen = options
        self.ports = [free_port() for _ in range(3)]
        self.theirs, self.before = [], {}

    def install(self):
        """Another server has its objects at the start; here upstream's are the first step."""

    def documents(self, text):
        """The documents of YAML, read by kubectl."""
        listed = self.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-", stdin=text)
        decoder, found, at = json.JSONDecoder(), [], 0
        while at < len(listed):
            document, end = decoder.raw_decode(listed, at)
            found += document["items"] if document["kind"] == "List" else [document]
            while end < len(listed) and listed[end].isspace():
                end += 1
            at = end
        return found

    def apply(self, things):
        """As Helm: in the order of kinds, and with one owner of fields over all releases."""
        order = lambda thing: (thing["kind"] in LAST, FIRST.index(thing["kind"]) if thing["kind"] in FIRST else len(FIRST))
        things = sorted(things, key=order)
        flags = ["--server-side", "--force-conflicts", "--field-manager=helm"] if self.chosen.server_side else []
        self.kubectl("apply", *flags, "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": things}))

    def put(self, *things):
        self.kubectl("apply", "--server-side", "-f", "-",
                     stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(things)}))

    def run_manager(self, name, program):
        """Both are the Service in turn: its address leads here, port 443 is what they listen on."""
        self.run(name, program, "--kubeconfig=" + self.as_role("koord-manager"), "--enable-leader-election",
                 "--leader-election-namespace=" + NAMESPACE, "--config-namespace=" + NAMESPACE, "--v=4",
                 f"--metrics-addr=127.0.0.1:{self.ports[0]}", f"--health-probe-addr=127.0.0.1:{self.ports[1]}",
                 f"--pprof-addr=127.0.0.1:{self.ports[2]}", WEBHOOK_PORT="443",
                 WEBHOOK_CERT_DIR=self.at("webhook-" + name), POD_NAMESPACE=NAMESPACE)

    def report(self):
        """What koordlets would say of their nodes."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        usage = lambda cpu, memory: {"resources": {"cpu": cpu, "memory": memory}}
        for node in NODES:
            self.kubectl("patch", "nodemetric", node, "--subresource=status", "--type=merge", "-p", json.dumps(
                {"status": {"updateTime": now, "nodeMetric": {"nodeUsage": usage("2", "4Gi"),
                                                              "systemUsage": usage("500m", "1Gi")}, "podsMetric": []}}))

    def secret(self):
        data = self.get("secret", "koordinator-webhook-certs", "-n", NAMESPACE).get("data") or {}
        return data.get("ca-cert.pem", "")

    def trusted(self):
        """The authority of each webhook that is there."""
        return {hook["name"]: hook["clientConfig"].get("caBundle", "") for kind, name in
                ((LAST[0], "koordinator-mutating-webhook-configuration"), (LAST[1], "koordinator-validating-webhook-configuration"))
                for hook in self.get(kind, name).get("webhooks", [])}

    def mutated(self, name):
        """Whether a pod that is created now is made a batch pod."""
        made = json.loads(self.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(pod(name))))
        requests = made["spec"]["containers"][0]["resources"]["requests"]
        return made["metadata"]["labels"].get("mutated") == "yes" and requests.get("kubernetes.io/batch-cpu") in ("1k", "1000")

    def offers(self):
        return {node: self.get("node", node)["status"].get("allocatable", {}).get("kubernetes.io/batch-cpu") for node in NODES}

    def looks(self):
        """What an upgrade must leave as it is."""
        found = {"authority": self.secret(), "offers": self.offers()}
        for kind in ("pods", "elasticquotas", "reservations", "podmigrationjobs"):
            for thing in self.get(kind, "-A")["items"]:
                meta = thing["metadata"]
                found[key_of(thing)] = (meta["uid"], meta.get("deletionTimestamp"), meta.get("labels"),
                                        meta.get("annotations"), thing["spec"])
        for kind in ("nodemetrics", "nodeslos", "clustercolocationprofiles", "elasticquotaprofiles", "priorityclasses"):
            for thing in self.get(kind)["items"]:
                found[key_of(thing)] = (thing["metadata"]["uid"], thing.get("spec"), thing.get("value"))
        return found

    # The steps.

    def upstream_is_installed(self):
        with open(self.chosen.upstream, encoding="utf-8") as file:
            self.theirs = self.documents(file.read())
        self.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
                 {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "work"}},
                 {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "work"}})
        self.apply(self.theirs)
        wait_until("the custom resources are served", lambda: "nodeslos" in self.kubectl(
            "api-resources", "--api-group=slo.koordinator.sh", "-o", "name"))

    def upstream_works(self):
        self.run_manager("upstream", self.chosen.manager)
        self.kubectl("patch", "configmap", "slo-controller-config", "-n", NAMESPACE, "--type=merge", "-p", json.dumps(
            {"data": {"colocation-config": '{"enable": true, "metricReportIntervalSeconds": 60}'}}))
        for node, cpu in zip(NODES, ("16", "64")):
            room = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
            self.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
            self.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p", json.dumps(
                {"status": {"capacity": room, "allocatable": room}}))
            wait_until("NodeMetric and NodeSLO of the node", lambda: self.kubectl("get", "nodemetric,nodeslo", node, "-o", "name"), 60)
        self.put(PROFILE)
        wait_until("upstream's webhooks change pods", lambda: self.mutated("try"), 60)
        self.put({"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota",
                  "metadata": {"name": "team", "namespace": "work"},
                  "spec": {"min": {"cpu": "4"}, "max": {"cpu": "16"}}},
                 {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Reservation", "metadata": {"name": "kept"},
                  "spec": {"template": {"spec": pod("x")["spec"]}, "owners": [{"labelSelector": {"matchLabels": {"a": "b"}}}],
                           "ttl": "24h"}},
                 *(pod(f"on-{node}", node) for node in NODES))
        self.report()
        wait_until("nodes offer batch resources", lambda: all(self.offers().values()), 90)
        check(all(bundle == self.secret() for bundle in self.trusted().values()), "upstream's webhooks trust its authority")
        self.before = self.looks()

    def ours_is_applied(self):
        command = shlex.split(self.chosen.render) if self.chosen.render else ["kubectl", "kustomize", str(SOURCE / "deploy")]
        ours = self.documents(subprocess.run(command, check=True, capture_output=True, text=True,
                                             env={**os.environ, "KUBECONFIG": self.kubeconfig}).stdout)
        # Whoever upgrades with values keeps his configuration.
        self.apply([thing for thing in ours if key_of(thing)[2] != "slo-controller-config"])
        kept = {key_of(thing) for thing in ours}
        gone = [thing for thing in self.theirs if key_of(thing) not in kept and thing["kind"] != "CustomResourceDefinition"]
        for thing in gone:
            print("     removed:", *key_of(thing))
            self.kubectl("delete", thing["kind"], thing["metadata"]["name"], "-n", thing["metadata"].get("namespace", "default"))
        check(all(thing["metadata"]["name"] in self.chosen.may_go for thing in gone),
              "only what this release has no need of is removed")
        check(self.secret() == self.before["authority"], "the certificates stay")

    def ours_takes_over(self):
        self.children["upstream"].send_signal(signal.SIGKILL)
        self.children["upstream"].wait()
        self.run_manager("ours", os.path.join(self.programs, "koord-manager"))
        lease = lambda: self.get("lease", "koordinator-manager", "-n", NAMESPACE)["spec"]
        holder = lease()["holderIdentity"]
        wait_until("webhooks change pods", lambda: self.mutated("try"), 30)
        wait_until("ours leads", lambda: lease()["holderIdentity"] not in (holder, ""), 40)
        bundles = wait_until("webhooks trust", lambda: all(self.trusted().values()) and self.trusted())
        check(set(bundles.values()) == {self.before["authority"]}, "webhooks trust the authority that was there")

    def nothing_has_changed(self):
        self.report()
        for _ in range(10):
            now = self.looks()
            for key, value in self.before.items():
                check(kept(value, now.get(key)), f"{key} was {value} and is {now.get(key)}")
            wait_until("a round of koord-manager", lambda: self.mutated("try"), pause=1)
        check(not set(now) - set(self.before) - {key for key in now if key[0] == "PriorityClass"},
              f"nothing came that was not there: {set(now) - set(self.before)}")

    def ours_works(self):
        self.kubectl("patch", "nodemetric", "large", "--subresource=status", "--type=merge", "-p", json.dumps(
            {"status": {"nodeMetric": {"systemUsage": {"resources": {"cpu": "20", "memory": "1Gi"}}}}}))
        was = self.before["offers"]["large"]
        wait_until("the busy node offers less", lambda: self.offers()["large"] not in (None, was), 60)
        refused = self.kubectl("create", "-f", "-", fails=True, stdin=json.dumps(
            {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "ElasticQuota", "spec": {"min": {"cpu": "4"}, "max": {"cpu": "2"}},
             "metadata": {"name": "wrong", "namespace": "work"}}))
        check("denied the request" in refused, refused)
        with open(self.at("audit.log"), encoding="utf-8") as log:
            text = log.read()
        check(f'"{NAMESPACE}:koord-manager' not in text or not [call for call in self.asked("koord-manager") if call[2] == 403
                                                               and call[0] != "create"], "its role is enough")

    def steps(self):
        return [self.start, self.upstream_is_installed, self.upstream_works, self.ours_is_applied, self.ours_takes_over,
                self.nothing_has_changed, self.ours_works]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--apiserver", "--etcd", "--programs", "--manager"):
        parser.add_argument(name, required=True, type=os.path.abspath)
    parser.add_argument("--from", required=True, dest="upstream", help="upstream's objects")
    parser.add_argument("--render", help="a command that prints the objects of our chart, in place of kubectl kustomize deploy; "
                        "like helm template --dry-run=server koordinator deploy/helm/koordinator -n koordinator-system")
    parser.add_argument("--client-side", dest="server_side", action="store_false", help="merge three ways, as Helm 3 does")
    parser.add_argument("--may-go", nargs="*", default=[],
                        help="names of upstream's objects that are not here")
    parser.add_argument("--keep", action="store_true", help="leave the folder with the logs")
    return parser.parse_args()


def with_network():
    """This program again, with a network of its own where the addresses of Services lead to itself."""
    if os.environ.get("KOORD_UPGRADE_NETWORK"):
        return
    os.environ["KOORD_UPGRADE_NETWORK"] = "own"
    setup = 'ip link set lo up && ip route add local 10.96.0.0/16 dev lo && exec "$@"'
    os.execvp("unshare", ["unshare", "--net", "sh", "-c", setup, "sh", sys.executable, *sys.argv])


def main():
    options = parse_arguments()
    with_network()
    folder = tempfile.mkdtemp(prefix="koord-upgrade-")
    upgraded, failed = Upgraded(options, folder), None
    for step in upgraded.steps():
        try:
            step()
            print("ok  ", step.__name__.replace("_", " "), flush=True)
        except (Failure, subprocess.CalledProcessError) as error:
            failed = error
            print("FAIL", step.__name__, error, flush=True)
            break
    upgraded.stop()
    if failed or options.keep:
        print("logs:", folder)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
