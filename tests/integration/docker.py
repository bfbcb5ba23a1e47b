#!/usr/bin/env python3
"""koord-runtime-proxy in front of a real dockerd (--backend-runtime-mode=Docker), koordlet behind, Docker's own client.

Needs dockerd and docker, on PATH or in the folder that the environment variable KOORD_DOCKER names, which may be what
`dpkg -x` makes of Debian's docker.io. Exit status 77 means that this machine cannot run it.
"""

import atexit
import json
import os
import shutil
import subprocess
import sys

from nri import image
from one_machine import CONTAINERD_PACKAGES, Cgroups, Cluster, check, run_if_possible, wait_until, why_not
from runtime_proxy import SAY

CONTAINERD = """version = 2
root = "{0}/containerd"
state = "{0}/containerd-state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "{0}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{0}/opt"
"""
SPEC = json.dumps({"containers": {"main": {
    "requests": {"kubernetes.io/batch-cpu": "100", "kubernetes.io/batch-memory": "16Mi"},
    "limits": {"kubernetes.io/batch-cpu": "200", "kubernetes.io/batch-memory": "32Mi"}}}})
PARENT = "/kubepods/besteffort/podu1"


class DockerCluster(Cluster):
    """Whose end is the end of all that stands on it."""

    end = staticmethod(lambda: None)

    def stop(self):
        self.end()
        super().stop()


class DockerTest:
    def __init__(self, programs, source, folder):
        self.programs, self.source = programs, source
        self.cluster = DockerCluster(programs, folder, "--host-node=off", "--nodes=0", "--components=none")
        self.folder = os.path.join(folder, "d")
        self.cgroups = Cgroups()
        self.processes = {}
        self.sandbox = self.main = None
        self.cluster.end = self.end
        atexit.register(self.end)

    def steps(self):
        return (self.comes_up, self.images_load, self.first_instruction, self.update_passes_the_hooks,
                self.exec_attach_and_logs, self.strangers_pass, self.proxy_is_killed, self.docker_restarts,
                self.containers_end, self.leaves_nothing_behind)

    def at(self, name):
        return os.path.join(self.folder, name)

    def start(self, name, *command, **environment):
        with open(self.at(name + ".log"), "a", encoding="utf-8") as log:
            self.processes[name] = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **environment})

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].wait()

    def docker(self, *words, stdin=None, fails=False, socket="proxy.sock"):
        run = subprocess.run([program("docker"), "-H", "unix://" + self.at(socket), *words], input=stdin,
                             capture_output=True, timeout=60, check=False,
                             env={**os.environ, "DOCKER_CONFIG": self.at("config")})
        check(fails == (run.returncode != 0), f"docker {words}: {run.stderr.decode()}")
        return (run.stderr if fails else run.stdout).decode()

    def metric(self, name):
        run = subprocess.run(["curl", "-s", "--unix-socket", self.at("metrics.sock"), "http://x/metrics"],
                             capture_output=True, text=True, check=False)
        check(run.returncode == 0, f"the metrics of the proxy: curl ends with {run.returncode}")
        return next(float(line.split()[1]) for line in run.stdout.splitlines() if line.startswith(name + " "))

    def start_docker(self):
        folders = os.pathsep.join((os.path.dirname(program("dockerd")), os.path.dirname(program("docker")),
                                   os.environ["PATH"]))
        self.start("dockerd", program("dockerd"), "--bridge=none", "--iptables=false", "--ip-forward=false",
                   "--ip-masq=false", "--data-root=" + self.at("data"), "--exec-root=" + self.at("exec"),
                   "--pidfile=" + self.at("docker.pid"), "--host=unix://" + self.at("docker.sock"),
                   "--containerd=" + self.at("containerd.sock"), "--storage-driver=vfs", "--live-restore",
                   "--exec-opt=native.cgroupdriver=cgroupfs", "--config-file=" + self.at("daemon.json"), PATH=folders)
        wait_until("dockerd answers", lambda: self.docker("version", socket="docker.sock"))

    def start_proxy(self):
        self.start("proxy", os.path.join(self.programs, "koord-runtime-proxy"), "--backend-runtime-mode=Docker",
                   "--koord-runtimeproxy-endpoint=" + self.at("proxy.sock"),
                   "--remote-runtime-service-endpoint=" + self.at("docker.sock"),
                   "--hook-server-config-dir=" + self.at("hooks"), "--metrics-addr=unix:" + self.at("metrics.sock"))
        wait_until("the proxy listens", lambda: self.docker("version"))

    def comes_up(self):
        os.makedirs(self.at("hooks"))
        for name, text in (("config.toml", CONTAINERD.format(self.folder)), ("daemon.json", "{}")):
            with open(self.at(name), "w", encoding="utf-8") as file:
                file.write(text)
        self.start("containerd", "containerd", "--config", self.at("config.toml"))
        wait_until("containerd listens", lambda: os.path.exists(self.at("containerd.sock")))
        self.start_docker()
        self.cluster.start()
        self.start("koordlet", os.path.join(self.programs, "koordlet"), "--kubeconfig=" + self.cluster.kubeconfig,
                   "--addr=127.0.0.1:0", "--tsdb-path=" + self.at("tsdb"), "--enable-nri-runtime-hook=false",
                   "--prediction-checkpoint-filepath=" + self.at("predictions"),
                   "--runtime-hooks-addr=" + self.at("koordlet.sock"),
                   "--runtime-hooks-host-endpoint=" + self.at("koordlet.sock"),
                   "--runtime-hooks-config-path=" + self.at("hooks"), NODE_NAME="docker-node", agent_mode="hostMode")
        wait_until("koordlet announces itself", lambda: os.path.exists(self.at("hooks/koordlet.json")))
        self.start_proxy()

    def images_load(self):
        check("busybox" in self.docker("load", stdin=image()), "docker load")
        check("busybox" in self.docker("images"), "docker images")

    def create(self, container, kind, *more, command=("sleep", "1000")):
        return self.docker(
            "create", "--name", f"k8s_{container}_be_default_u1_0", "--network=host", "--cgroup-parent", PARENT,
            "--label", "io.kubernetes.docker.type=" + kind, "--label", "koordinator.sh/qosClass=BE",
            "--label", "annotation.node.koordinator.sh/extended-resource-spec=" + SPEC, *more, "busybox",
            *command).strip()

    def first_instruction(self):
        """As kubelet's Docker shims make a pod: values are in place before the container's first instruction."""
        self.sandbox = self.create("POD", "podsandbox")
        self.docker("start", self.sandbox)
        self.main = self.create("main", "container", "--label", "io.kubernetes.sandbox.id=" + self.sandbox,
                                "--env", "A=1", command=("sh", "-c", SAY))
        self.docker("start", self.main)
        said = wait_until("its words", lambda: self.docker("logs", self.main)).split("\n")
        first = said[1:3] if self.cgroups.v2 else said[:3]
        expected = ["20000 100000", str(32 << 20)] if self.cgroups.v2 else ["102", "20000", str(32 << 20)]
        check(first == expected, f"at its first instruction: {said}")
        check(self.metric("koord_runtime_proxy_known_pods") == 1 and
              self.metric("koord_runtime_proxy_known_containers") == 1, "what is known")

    def update_passes_the_hooks(self):
        self.docker("update", "--cpu-quota=50000", self.main)
        check(self.cgroups.quota(f"{PARENT[1:]}/{self.main}") == 20000, "the quota after an update")

    def exec_attach_and_logs(self):
        check(self.docker("exec", self.main, "echo", "hello") == "hello\n", "exec")
        check(self.docker("exec", "-i", self.main, "cat", stdin=b"in and out") == "in and out", "exec with input")
        large = os.urandom(4 << 20).hex()
        check(self.docker("run", "-i", "--rm", "--network=none", "busybox", "cat", stdin=large.encode()) == large,
              "attach with input")
        run = ("run", "--rm", "--network=none", "busybox", "sh", "-c", "echo one; sleep 0.2; echo two")
        check(self.docker(*run) == "one\ntwo\n", "output")
        self.docker("create", "--name", "talk", "--network=none", "busybox", "sh", "-c", "echo one; sleep 1; echo two")
        self.docker("start", "talk")
        check(self.docker("logs", "-f", "talk") == "one\ntwo\n", "logs -f follows to the end")
        self.docker("rm", "talk")

    def strangers_pass(self):
        """Containers that are not kubelet's are nobody's concern, and dockerd's errors are its own."""
        identity = self.docker("create", "--name", "stranger", "--network=none", "busybox", "echo").strip()
        self.docker("start", identity)
        wait_until("its end", lambda: self.docker("wait", identity) == "0\n")
        check("No such container" in self.docker("stop", "nobody", fails=True), "stop of nobody")
        self.docker("rm", "stranger")
        check(self.metric("koord_runtime_proxy_known_containers") == 1, "strangers are not remembered")

    def proxy_is_killed(self):
        self.kill("proxy")
        os.unlink(self.at("metrics.sock"))
        self.start_proxy()
        check(self.metric("koord_runtime_proxy_known_pods") == 1, "the pod is known again")
        self.update_passes_the_hooks()

    def docker_restarts(self):
        self.kill("dockerd")
        check("koord-runtime-proxy" in self.docker("ps", fails=True), "no dockerd")
        self.start_docker()
        self.update_passes_the_hooks()

    def containers_end(self):
        for identity in (self.main, self.sandbox):
            self.docker("stop", "-t", "1", identity)
            self.docker("rm", identity)
        check(self.metric("koord_runtime_proxy_known_pods") == 0 and
              self.metric("koord_runtime_proxy_known_containers") == 0, "what has ended is forgotten")

    def leaves_nothing_behind(self):
        self.cluster.stop()
        for root in ([""] if self.cgroups.v2 else os.listdir("/sys/fs/cgroup")):
            for folder, _, _ in os.walk(os.path.join("/sys/fs/cgroup", root, "kubepods"), topdown=False):
                os.rmdir(folder)
        check(not self.cgroups.left_over(), f"cgroups are left: {self.cgroups.left_over()}")

    def end(self):
        if "dockerd" in self.processes and self.processes["dockerd"].poll() is None:
            for identity in self.docker("ps", "-aq", socket="docker.sock").split():
                self.docker("rm", "-f", identity, socket="docker.sock")
        for name in ("proxy", "koordlet", "dockerd", "containerd"):
            process = self.processes.get(name)
            if process and process.poll() is None:
                process.terminate()
                process.wait(timeout=20)


def program(name):
    folder = os.environ.get("KOORD_DOCKER")
    places = [os.path.join(folder, *part, name) for part in (("usr", "bin"), ("usr", "sbin"), ())] if folder else []
    return next((place for place in places if os.access(place, os.X_OK)), None) or shutil.which(name)


if __name__ == "__main__":
    sys.exit(run_if_possible(DockerTest, __doc__, why_not({**CONTAINERD_PACKAGES, "curl": "curl"}) or next(
        (f"{name} is not installed (Debian package docker.io); or name its folder in KOORD_DOCKER"
         for name in ("dockerd", "docker") if not program(name)), None)))
