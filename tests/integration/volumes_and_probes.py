"""A pod that uses volumes, probes and hooks, for the integration tests of both runtimes."""

import json
import os
import time

from one_machine import check, read, wait_until

NAMESPACE = "volumes"
PORT = 18473  # of the pod's web server, on loopback

OBJECTS = f"""apiVersion: v1
kind: Namespace
metadata: {{name: {NAMESPACE}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings, namespace: {NAMESPACE}}}
data: {{mode: fast, port: "{PORT}"}}
---
apiVersion: v1
kind: Secret
metadata: {{name: key, namespace: {NAMESPACE}}}
stringData: {{password: s3cret}}
"""

# The server answers what files say: /www/ready makes it ready, /www/dead kills it.
POD = """apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: NAMESPACE, labels: {app: volumes}}
spec:
  nodeName: NODE
  terminationGracePeriodSeconds: 5
  volumes:
  - {name: conf, configMap: {name: settings}}
  - {name: all, projected: {defaultMode: 256, sources: [{secret: {name: key}}, {downwardAPI: {items: [
      {path: labels, fieldRef: {fieldPath: metadata.labels}}]}}]}}
  - {name: www, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
  - {name: host, hostPath: {path: FOLDER, type: DirectoryOrCreate}}
  initContainers:
  - name: check
    image: busybox
    command: [sh, -c, 'test "$MODE$P_port" = fastPORT && test "$(cat /etc/koord-mode)" = fast &&
      cat /all/password /all/labels > /host/seen && ! touch /all/x && cp /etc/koord-mode /data/www/index.html']
    env: [{name: MODE, valueFrom: {configMapKeyRef: {name: settings, key: mode}}}]
    envFrom: [{prefix: P_, configMapRef: {name: settings}}]
    volumeMounts:
    - {name: conf, mountPath: /etc/koord-mode, subPath: mode}
    - {name: all, mountPath: /all}
    - {name: www, mountPath: /data/www}
    - {name: host, mountPath: /host, subPath: sub/folder}
  containers:
  - name: web
    image: busybox
    command: [sh, -c, 'exec busybox httpd -f -p 127.0.0.1:PORT -h /data/www']
    ports: [{name: http, containerPort: PORT}]
    volumeMounts:
    - {name: www, mountPath: /data/www}
    - {name: conf, mountPath: /conf}
    - {name: host, mountPath: /host}
    startupProbe: {tcpSocket: {port: http}, periodSeconds: 1, failureThreshold: 30}
    readinessProbe: {httpGet: {path: /ready, port: http}, periodSeconds: 1, failureThreshold: 1}
    # On a busy machine a BE pod may wait for seconds for a CPU.
    livenessProbe: {exec: {command: [sh, -c, '! test -e /data/www/dead']}, periodSeconds: 1, failureThreshold: 2,
                    timeoutSeconds: 30}
    lifecycle:
      postStart: {exec: {command: [sh, -c, 'rm -f /data/www/dead; cp /conf/mode /host/started']}}
      preStop: {exec: {command: [sh, -c, 'cp /conf/mode /host/stopped']}}
"""


class VolumesAndProbes:
    """Steps for a running cluster; the pod's own folder of the host is below `folder`."""

    def __init__(self, cluster, folder, node):
        self.cluster = cluster
        self.folder = os.path.join(folder, "host-path")
        self.node = node
        self.mounts = self.mount_table()

    @staticmethod
    def mount_table():
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            return sorted(line for line in file if "/pods/" in line)

    def pod(self):
        return self.cluster.get("pod", "volumes", "-n", NAMESPACE)

    def status(self):
        return self.pod()["status"]["containerStatuses"][0]

    def main_process(self):
        """The one of the container, to look at files as it sees them."""
        uid = self.pod()["metadata"]["uid"]
        container = self.status()["containerID"].split("://")[1]
        for root, _, files in os.walk("/sys/fs/cgroup"):
            if root.endswith(f"/pod{uid}/{container}") and "cgroup.procs" in files:
                processes = read(root + "/cgroup.procs").split()
                if processes:
                    return processes[0]
        return None

    def inside(self, path):
        return f"/proc/{self.main_process()}/root{path}"

    def touch(self, path):
        with open(self.inside(path), "w", encoding="utf-8"):
            pass

    def events(self, reason):
        return [event["message"] for event in self.cluster.get("events", "-n", NAMESPACE)["items"]
                if event["reason"] == reason]

    def is_set_up(self):
        self.cluster.kubectl("apply", "-f", "-", stdin=OBJECTS)
        text = POD.replace("NAMESPACE", NAMESPACE).replace("NAME", "volumes").replace("NODE", self.node)
        text = text.replace("FOLDER", self.folder).replace("PORT", str(PORT))
        self.cluster.kubectl("apply", "-f", "-", stdin=text)
        wait_until("the container has started", lambda: self.status().get("started"), 30)
        check(read(self.folder + "/sub/folder/seen") == 's3cretapp="volumes"', "files of the projected volume")
        check(read(self.folder + "/started") == "fast", "the postStart hook")
        check(not os.path.exists("/data/www") and not os.path.exists("/etc/koord-mode"),
              "mount points are on the host")
        check(not self.status()["ready"], "ready before its probe says so")
        self.touch("/data/www/ready")
        wait_until("the pod is ready", lambda: [
            condition for condition in self.pod()["status"]["conditions"]
            if condition["type"] == "Ready" and condition["status"] == "True"], 20)

    def follows_changes(self):
        patch = json.dumps({"data": {"mode": "slow"}})
        self.cluster.kubectl("patch", "configmap", "settings", "-n", NAMESPACE, "-p", patch)
        wait_until("the file changes", lambda: read(self.inside("/conf/mode")) == "slow", 10)

    def is_restarted_by_its_probe(self):
        before = self.status()["containerID"]
        self.touch("/data/www/dead")
        wait_until("the container is restarted", lambda: self.status()["restartCount"] == 1 and
                   self.status()["containerID"] != before and "running" in self.status()["state"], 30)
        check("Container web failed liveness probe, will be restarted" in self.events("Killing"), "event Killing")
        check(any(message.startswith("Liveness probe failed:") for message in self.events("Unhealthy")),
              "event Unhealthy")
        check(read(self.inside("/data/www/index.html")) == "fast", "what is in memory outlives a container")

    def outlives_koordctl(self):
        before = self.status()["containerID"]
        self.cluster.kill()
        self.cluster.start()
        time.sleep(1)
        check(self.status()["containerID"] == before, "the container was started again")
        patch = json.dumps({"data": {"mode": "last"}})
        self.cluster.kubectl("patch", "configmap", "settings", "-n", NAMESPACE, "-p", patch)
        wait_until("the file changes", lambda: read(self.inside("/conf/mode")) == "last", 10)

    def is_refused(self):
        spec = {"nodeName": self.node, "volumes": [{"name": "share", "nfs": {"server": "s", "path": "/"}}],
                "containers": [{"name": "main", "image": "busybox", "command": ["true"],
                                "volumeMounts": [{"name": "share", "mountPath": "/share"}]}]}
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "nfs", "namespace": NAMESPACE},
                    "spec": spec}
        self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))
        wait_until("an event about the volume", lambda: [
            message for message in self.events("FailedMount") if "no volume plugin matched" in message], 10)

    def leaves_nothing(self):
        pods = os.path.join(self.cluster.data, "pods")
        uids = [pod["metadata"]["uid"] for pod in self.cluster.get("pods", "-n", NAMESPACE)["items"]]
        check(any(os.path.exists(os.path.join(pods, uid)) for uid in uids), "no pod has a folder")
        self.cluster.kubectl("delete", "namespace", NAMESPACE, "--timeout=60s")
        check(read(self.folder + "/stopped") == "last", "the preStop hook")
        wait_until("no folder is left", lambda: not set(os.listdir(pods)) & set(uids), 15)
        check(self.mount_table() == self.mounts, f"mounts are left: {self.mount_table()}")
        check(os.path.exists(self.folder + "/started"), "a hostPath was emptied")

    def run(self):
        for step in (self.is_set_up, self.follows_changes, self.is_restarted_by_its_probe, self.outlives_koordctl,
                     self.is_refused, self.leaves_nothing):
            step()
