#!/usr/bin/env python3
"""Services of the host node: cluster IPs, node ports, load balancers and names lead to its pods, and end with koordctl.

Exit status 77 means that this machine cannot run it.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request

from one_machine import Cluster, check, run_if_possible, wait_until, why_not

SERVER = ("import http.server,os,sys\n"
          "class H(http.server.BaseHTTPRequestHandler):\n"
          "  def do_GET(self):\n"
          "    self.send_response(200); self.end_headers()\n"
          "    self.wfile.write(os.environ['POD'].encode())\n"
          "  def log_message(self, *a): pass\n"
          "http.server.ThreadingHTTPServer(('', int(sys.argv[1])), H).serve_forever()\n")
# Not best effort: koordlet takes the CPU from such pods when the machine is busy.
REQUESTS = {"requests": {"cpu": "50m", "memory": "32Mi"}}
NAMES = ("import socket,sys\n"
         "for name in sys.argv[1:]:\n"
         "  try: print(name, socket.gethostbyname(name), flush=True)\n"
         "  except OSError as error: print(name, 'failed:', error, flush=True)\n")


WEBHOOK = ("import http.server,json,ssl,sys\n"
           "class H(http.server.BaseHTTPRequestHandler):\n"
           "  def do_POST(self):\n"
           "    asked = json.loads(self.rfile.read(int(self.headers['Content-Length'])))\n"
           "    answer = json.dumps({'apiVersion': 'admission.k8s.io/v1', 'kind': 'AdmissionReview', 'response': {\n"
           "        'uid': asked['request']['uid'], 'allowed': False,\n"
           "        'status': {'message': 'not on my watch'}}}).encode()\n"
           "    self.send_response(200); self.send_header('Content-Length', str(len(answer))); self.end_headers()\n"
           "    self.wfile.write(answer)\n"
           "  def log_message(self, *a): pass\n"
           "s = http.server.ThreadingHTTPServer(('', int(sys.argv[1])), H)\n"
           "c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); c.load_cert_chain(sys.argv[2], sys.argv[3])\n"
           "s.socket = c.wrap_socket(s.socket, server_side=True)\n"
           "s.serve_forever()\n")


def web(name, port):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"terminationGracePeriodSeconds": 1, "containers": [{
                "name": "web", "image": "python", "command": [sys.executable, "-c", SERVER, str(port)],
                "env": [{"name": "POD", "value": name}],
                "ports": [{"name": "http", "containerPort": port}], "resources": REQUESTS,
                "readinessProbe": {"httpGet": {"port": port}, "periodSeconds": 1}}]}}


def service(name, kind, port, **more):
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"type": kind, "selector": {"app": "web"},
                     "ports": [{"name": "http", "port": port, "targetPort": "http"}], **more}}


def fetch(address, port):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{address}:{port}/", timeout=5) as answer:
            return answer.read().decode()
    except OSError as error:
        return f"failed: {error}"


def tables():
    if not shutil.which("nft"):
        return ""
    return subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=True).stdout


class ServicesTest:
    def __init__(self, programs, source, folder):
        self.cluster = Cluster(programs, folder, "--host-node=on")
        self.source = source

    def steps(self):
        return (self.comes_up, self.pods_without_a_command_say_why, self.endpoints_follow_pods,
                self.addresses_lead_to_pods, self.services_without_pods_refuse, self.names_resolve,
                self.in_cluster_clients_work, self.webhooks_in_pods_are_called, self.a_kill_leaves_nothing_in_the_kernel, self.comes_back,
                self.ends_clean)

    def apply(self, *objects):
        self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def comes_up(self):
        self.cluster.start()

    def pods_without_a_command_say_why(self):
        self.cluster.kubectl("create", "deployment", "nginx", "--image=nginx")

        def waits():
            pods = self.cluster.get("pods", "-l", "app=nginx")["items"]
            states = pods[0]["status"].get("containerStatuses", []) if pods else []
            return states and states[0]["state"].get("waiting")
        waiting = wait_until("the reason", lambda: (waits() or {}).get("reason") == "ErrImageNeverPull" and waits(), 10)
        check("--runtime=containerd" in waiting["message"], waiting["message"])
        wait_until("the event", lambda: "is not pulled" in self.cluster.kubectl("get", "events"), 10)
        self.cluster.kubectl("delete", "deployment", "nginx")

    def endpoints_follow_pods(self):
        self.apply(web("one", 18081), web("two", 18082), service("web", "ClusterIP", 80),
                   service("door", "NodePort", 80), service("front", "LoadBalancer", 80),
                   service("set", "ClusterIP", 80, clusterIP="None"))
        self.cluster.kubectl("wait", "--for=condition=Ready", "pod/one", "pod/two", "--timeout=60s")

        def addresses():
            slices = self.cluster.get("endpointslices", "-l", "kubernetes.io/service-name=web")["items"]
            return sorted(port["port"] for one in slices for port in one["ports"]
                          if any(end["conditions"]["ready"] for end in one["endpoints"]))
        wait_until("both ports in slices", lambda: addresses() == [18081, 18082], 10)
        wait_until("both in Endpoints", lambda: len(self.cluster.get("endpoints", "web").get("subsets", [])) == 2, 10)

    def addresses_lead_to_pods(self):
        address = self.cluster.get("service", "web")["spec"]["clusterIP"]
        wait_until("both pods answer", lambda: {fetch(address, 80) for _ in range(20)} == {"one", "two"}, 20)
        node_port = self.cluster.get("service", "door")["spec"]["ports"][0]["nodePort"]
        check(fetch("127.0.0.1", node_port) in ("one", "two"), "the node port")
        front = wait_until("an address of the load balancer", lambda: self.cluster.get(
            "service", "front")["status"]["loadBalancer"].get("ingress"), 10)[0]["ip"]
        check(front.startswith("127."), f"the load balancer has {front}")
        check(fetch(front, 80) in ("one", "two"), "the load balancer")

    def services_without_pods_refuse(self):
        address = self.cluster.get("service", "web")["spec"]["clusterIP"]
        check("refused" in fetch(address, 81), "another port of the cluster IP")
        self.cluster.kubectl("delete", "pod", "one", "two")
        wait_until("a refusal", lambda: "refused" in fetch(address, 80), 20)
        self.apply(web("one", 18081))
        wait_until("the pod answers", lambda: fetch(address, 80) == "one", 30)

    def names_resolve(self):
        cluster_ip = self.cluster.get("service", "web")["spec"]["clusterIP"]
        expected = {"web": cluster_ip, "web.default": cluster_ip, "web.default.svc.cluster.local": cluster_ip,
                    "kubernetes.default": "10.96.0.1", "set": "127.0.0.1"}
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "names"},
                    "spec": {"restartPolicy": "Never", "containers": [{
                        "name": "names", "image": "python", "resources": REQUESTS,
                        "command": [sys.executable, "-c", NAMES, *expected, "nothing.default.svc.cluster.local"]}]}})
        self.cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/names", "--timeout=60s")
        said = dict(line.split(" ", 1) for line in self.cluster.kubectl("logs", "names").splitlines())
        check(said.pop("nothing.default.svc.cluster.local").startswith("failed"), "a name that does not exist")
        check(said == expected, f"{said}, want {expected}")

    def in_cluster_clients_work(self):
        """As client-go does: variables and the files of the service account."""
        script = ("cd /var/run/secrets/kubernetes.io/serviceaccount && exec kubectl --token=$(cat token) "
                  "--certificate-authority=ca.crt "
                  "--server=https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT auth whoami")
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "client"},
                    "spec": {"restartPolicy": "Never", "containers": [{
                        "name": "client", "image": "kubectl", "command": ["sh", "-c", script],
                        "resources": REQUESTS}]}})
        wait_until("the client's words", lambda: "system:serviceaccount:default:default" in
                   self.cluster.kubectl("logs", "client"), 60, 0.5)

    def webhooks_in_pods_are_called(self):
        if not shutil.which("openssl"):
            return
        key, cert = (os.path.join(self.cluster.folder, name) for name in ("key.pem", "cert.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", key,
                        "-out", cert, "-subj", "/CN=hook", "-addext", "subjectAltName=DNS:hook.default.svc"],
                       check=True, capture_output=True)
        with open(cert, "rb") as file:
            authority = base64.b64encode(file.read()).decode()
        pod = web("hook", 18090)
        pod["metadata"]["labels"] = {"app": "hook"}
        pod["spec"]["containers"][0]["command"] = [sys.executable, "-c", WEBHOOK, "18090", cert, key]
        pod["spec"]["containers"][0]["readinessProbe"] = {"tcpSocket": {"port": 18090}, "periodSeconds": 1}
        self.apply(pod, service("hook", "ClusterIP", 443, selector={"app": "hook"}))
        self.cluster.kubectl("wait", "--for=condition=Ready", "pod/hook", "--timeout=60s")
        self.apply({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                    "metadata": {"name": "hook"}, "webhooks": [{
                        "name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                                   "resources": ["configmaps"]}],
                        "clientConfig": {"caBundle": authority, "service": {"namespace": "default", "name": "hook"}}}]})
        refusal = wait_until("the refusal of the webhook", lambda: self.cluster.kubectl(
            "create", "configmap", "x", "--dry-run=server", fails=True), 20)
        check("not on my watch" in refusal, refusal)
        self.cluster.kubectl("delete", "validatingwebhookconfiguration", "hook")
        self.cluster.kubectl("delete", "pod", "hook")

    def a_kill_leaves_nothing_in_the_kernel(self):
        self.address = self.cluster.get("service", "web")["spec"]["clusterIP"]
        check("koordctl" in tables() or not tables(), tables())
        self.cluster.kill()
        wait_until("no table", lambda: "table ip koordctl" not in tables(), 10)
        check(not os.path.exists("/sys/class/net/koordctl0"), "the device koordctl0 is there")
        with socket.create_connection(("127.0.0.1", 18081), timeout=5):
            pass  # pods outlive koordctl

    def comes_back(self):
        self.cluster.start()
        wait_until("the pod answers by its service", lambda: fetch(self.address, 80) == "one", 30)

    def ends_clean(self):
        self.cluster.stop()
        check("table ip koordctl" not in tables(), tables())
        check(not os.path.exists("/sys/class/net/koordctl0"), "the device koordctl0 is there")


if __name__ == "__main__":
    sys.exit(run_if_possible(ServicesTest, __doc__, why_not()))
