"""A real kube-apiserver with etcd on this machine, where programs of ours are who their shipped roles say.

Each gets a token of its service account, with which it has the rights of deploy/manifests and no others; the server's
audit log tells what was asked and refused. Needs openssl and kubectl.
"""

import json
import os
import pathlib
import socket
import subprocess

from one_machine import Cluster
from waiting import check, wait_until

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
NAMESPACE = "koordinator-system"
USER = f"system:serviceaccount:{NAMESPACE}:"
AUDIT = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
         "rules": [{"level": "Metadata"}]}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class KubeApiserver(Cluster):
    """In place of koordctl up: the same methods, other processes."""

    def __init__(self, programs, folder, apiserver, etcd):
        super().__init__(programs, folder)
        self.apiserver, self.etcd = apiserver, etcd
        self.port = free_port()
        self.children = {}
        os.makedirs(self.data)

    def at(self, name):
        return os.path.join(self.data, name)

    def run(self, name, *command, **environment):
        with open(self.at(name + ".log"), "a", encoding="utf-8") as log:
            self.children[name] = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **environment})

    def openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=self.data)

    def certificate(self, name, subject, extension=""):
        """A key and a certificate that the server's authority has signed."""
        pathlib.Path(self.at(name + ".ext")).write_text(extension, encoding="utf-8")
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", name + ".key", "-out", name + ".csr",
                     "-subj", subject)
        self.openssl("x509", "-req", "-in", name + ".csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                     "-days", "2", "-out", name + ".crt", "-extfile", name + ".ext")

    def kubeconfig_of(self, name, user):
        path = self.at(name + ".kubeconfig")
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
                  "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                  "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{self.port}",
                                                         "certificate-authority": self.at("ca.crt")}}],
                  "users": [{"name": "u", "user": user}]}
        pathlib.Path(path).write_text(json.dumps(config), encoding="utf-8")
        return path

    def as_role(self, name):
        """A kubeconfig with a token of the service account that deploy/manifests give to a program."""
        token = self.kubectl("create", "token", name, "-n", NAMESPACE, "--duration=2h").strip()
        return self.kubeconfig_of(name, {"token": token})

    def as_node(self, node):
        self.certificate("node", f"/O=system:nodes/CN=system:node:{node}")
        return self.kubeconfig_with("node")

    def kubeconfig_with(self, certificate):
        return self.kubeconfig_of(certificate, {"client-certificate": self.at(certificate + ".crt"),
                                                "client-key": self.at(certificate + ".key")})

    def start(self, *_):
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.crt",
                     "-days", "2", "-subj", "/CN=authority")
        self.certificate("server", "/CN=server", "subjectAltName=IP:127.0.0.1,IP:10.96.0.1")
        self.certificate("admin", "/O=system:masters/CN=admin")
        self.openssl("genrsa", "-out", "sa.key", "2048")
        pathlib.Path(self.at("audit.json")).write_text(json.dumps(AUDIT), encoding="utf-8")
        clients, peers = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.run("etcd", self.etcd, "--data-dir=" + self.at("etcd"), "--listen-client-urls=" + clients,
                 "--advertise-client-urls=" + clients, "--listen-peer-urls=" + peers,
                 "--initial-advertise-peer-urls=" + peers, "--initial-cluster=default=" + peers, "--unsafe-no-fsync")
        self.run("apiserver", self.apiserver, "--etcd-servers=" + clients, "--bind-address=127.0.0.1",
                 "--advertise-address=127.0.0.1", f"--secure-port={self.port}",
                 "--tls-cert-file=" + self.at("server.crt"),
                 "--tls-private-key-file=" + self.at("server.key"), "--client-ca-file=" + self.at("ca.crt"),
                 "--service-account-issuer=https://kubernetes.default.svc",
                 "--service-account-key-file=" + self.at("sa.key"),
                 "--service-account-signing-key-file=" + self.at("sa.key"), "--authorization-mode=Node,RBAC",
                 "--enable-admission-plugins=NodeRestriction", "--service-cluster-ip-range=10.96.0.0/16",
                 "--allow-privileged=true", "--audit-policy-file=" + self.at("audit.json"),
                 "--audit-log-path=" + self.at("audit.log"), "--cert-dir=" + self.at("certificates"))
        os.replace(self.kubeconfig_with("admin"), self.kubeconfig)
        wait_until("kube-apiserver is ready", lambda: self.ready() == "ok", 90)
        self.install()

    def ready(self):
        check(self.children["apiserver"].poll() is None, "kube-apiserver has ended")
        return self.kubectl("get", "--raw", "/readyz")

    def install(self):
        self.kubectl("create", "-f", str(SOURCE / "deploy/crds"))
        for name in ("00-namespace", "priority-classes", "manager-rbac", "koordlet-rbac", "manager-webhooks",
                     "slo-controller-config"):
            self.kubectl("apply", "-f", str(SOURCE / f"deploy/manifests/{name}.yaml"))
        wait_until("the custom resources are served", lambda: "nodeslos" in self.kubectl(
            "api-resources", "--api-group=slo.koordinator.sh", "-o", "name"))
        ports = [free_port() for _ in range(3)]
        self.run("koord-manager", os.path.join(self.programs, "koord-manager"),
                 "--kubeconfig=" + self.as_role("koord-manager"), f"--metrics-addr=127.0.0.1:{ports[1]}",
                 f"--health-probe-addr=127.0.0.1:{ports[2]}", WEBHOOK_HOST="127.0.0.1", WEBHOOK_PORT=str(ports[0]),
                 WEBHOOK_CERT_DIR=self.at("webhook"), POD_NAMESPACE=NAMESPACE)

    def asked(self, name):
        """What the program has asked, [verb, path, status], each once."""
        calls = set()
        with open(self.at("audit.log"), encoding="utf-8") as log:
            for line in log:
                event = json.loads(line)
                if event["user"]["username"] == USER + name:
                    calls.add((event["verb"], event["requestURI"].split("?")[0], event["responseStatus"]["code"]))
        return sorted(calls)

    def stop(self):
        for child in reversed(self.children.values()):
            if child.poll() is None:
                child.terminate()
                try:
                    child.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()
        self.process = None
