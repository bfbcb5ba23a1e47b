#!/usr/bin/env python3
"""koordlet as an NRI plugin of a real containerd, with koord-manager, koord-scheduler and pods of the host node.

Needs containerd 1.7 or newer: Debian 12's is older. Another one is taken from the folder that the environment
variable KOORD_CONTAINERD names, which holds containerd, ctr and containerd-shim-runc-v2.
Exit status 77 means that this machine cannot run it.
"""

import atexit
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request

from one_machine import NAMESPACE, Cluster, check, run_if_possible, running, wait_until, why_not
from runtime_proxy import RuntimeProxyTest, manifest

CONFIG = """version = 2
root = "{0}/root"
state = "{0}/state"
[grpc]
  address = "{0}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{0}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "koordctl.local/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true
[plugins."io.containerd.nri.v1.nri"]
  disable = false
  socket_path = "{0}/nri.sock"
  plugin_path = "{0}/plugins"
  plugin_config_path = "{0}/conf"
"""


class NriTest(RuntimeProxyTest):
    def __init__(self, programs, source, folder):
        super().__init__(programs, source, folder)
        self.programs = programs
        self.folder = os.path.join(folder, "c")
        self.socket = os.path.join(self.folder, "containerd.sock")
        self.cluster = Cluster(programs, folder, "--host-node=on", "--runtime=containerd",
                               f"--containerd-socket={self.socket}", "--components=koord-manager,koord-scheduler")
        self.daemon = self.koordlet = None
        atexit.register(self.end_processes)

    def steps(self):
        return (self.runtime_starts, self.comes_up, self.first_instruction, self.bound_cpus, self.updates_pass_the_hooks,
                self.synchronizing_repairs, self.runtime_restarts, self.leaves_nothing_behind)

    def runtime_starts(self):
        os.makedirs(self.folder)
        with open(os.path.join(self.folder, "config.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG.format(self.folder))
        self.start_daemon()
        tar = os.path.join(self.folder, "busybox.tar")
        with open(tar, "wb") as file:
            file.write(image())
        subprocess.run([os.path.join(containerd_folder(), "ctr"), "--address", self.socket, "--namespace", "k8s.io",
                        "images", "import", tar], check=True, capture_output=True)

    def start_daemon(self):
        path = containerd_folder() + ":" + os.environ["PATH"]
        with open(os.path.join(self.folder, "log"), "a", encoding="utf-8") as log:
            self.daemon = subprocess.Popen(["containerd", "--config", os.path.join(self.folder, "config.toml")],
                                           env={**os.environ, "PATH": path}, stdout=log, stderr=log,
                                           executable=os.path.join(containerd_folder(), "containerd"))
        wait_until("containerd answers", lambda: subprocess.run(
            [self.client, self.socket, "version"], capture_output=True, check=False).returncode == 0)

    def start_koordlet(self):
        command = [os.path.join(self.programs, "koordlet"), f"--kubeconfig={self.cluster.kubeconfig}",
                   "--addr=127.0.0.1:0", f"--tsdb-path={self.folder}/tsdb", "--runtime-hooks-addr=",
                   f"--prediction-checkpoint-filepath={self.folder}/predictions",
                   f"--runtime-hooks-nri-socket-path={self.folder}/nri.sock", "--runtime-hooks-nri-backoff-cap=2s"]
        with open(self.koordlet_log(), "a", encoding="utf-8") as log:
            self.koordlet = subprocess.Popen(command, stdout=log, stderr=log, env={
                **os.environ, "NODE_NAME": self.node, "agent_mode": "hostMode"})

    def koordlet_log(self):
        return os.path.join(self.folder, "koordlet.log")

    def synchronizations(self):
        with open(self.koordlet_log(), encoding="utf-8") as file:
            return len(re.findall(r"NRI: \d+ pods and \d+ containers exist", file.read()))

    def metrics(self):
        """Those of NRI, {name with labels: value}."""
        with open(self.koordlet_log(), encoding="utf-8") as file:
            address = re.findall(r"serving on (http://\S+)", file.read())[-1]
        with urllib.request.urlopen(address + "/metrics", timeout=5) as reply:
            lines = [line for line in reply.read().decode().splitlines() if line.startswith("koordlet_nri_")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    def comes_up(self):
        self.cluster.start()
        self.start_koordlet()
        wait_until("koordlet is a plugin of containerd", lambda: self.synchronizations() == 1)
        self.make_room()

    def synchronizing_repairs(self):
        """A container that was changed while koordlet was away gets its values as koordlet comes back."""
        self.koordlet.kill()
        self.koordlet.wait()
        identity, folder = self.container("work")
        self.cri("update", identity, "10000", "0")  # the pod itself has 20000
        check(self.cgroups.quota(folder) == 10000, "nobody is there to object")
        self.start_koordlet()
        wait_until("the second plugin", lambda: self.synchronizations() == 2)
        wait_until("the quota as it was", lambda: self.cgroups.quota(folder) == 20000)

    def runtime_restarts(self):
        self.daemon.kill()
        self.daemon.wait()
        self.start_daemon()
        wait_until("koordlet is a plugin again", lambda: self.synchronizations() == 3)
        self.cluster.kubectl("apply", "-f", "-", stdin=manifest("later"))
        wait_until("the pod runs", lambda: running(self.cluster.pods(), 2), 60)
        self.said_right("later")
        metrics = self.metrics()
        made = metrics['koordlet_nri_events{event="CreateContainer",status="success"}']
        check(metrics["koordlet_nri_connected"] == metrics["koordlet_nri_reconnections"] == 1 and made >= 1,
              f"metrics: {metrics}")

    def leaves_nothing_behind(self):
        self.cluster.kubectl("delete", "pod", "-n", NAMESPACE, "--all", "--timeout=60s")
        self.end()
        check(not self.cgroups.left_over(), f"cgroups are left: {self.cgroups.left_over()}")

    def end(self):
        self.cluster.stop()
        self.end_processes()

    def end_processes(self):
        for process in (self.koordlet, self.daemon):
            if process and process.poll() is None:
                process.terminate()
                process.wait(timeout=20)


def containerd_folder():
    return os.environ.get("KOORD_CONTAINERD") or os.path.dirname(shutil.which("containerd") or "/usr/bin/containerd")


def image():
    """An archive for ctr: busybox, and the same as the image of sandboxes."""

    def tar(files):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name, content in files.items():
                entry = tarfile.TarInfo(name)
                entry.mode = 0o755
                if isinstance(content, str):
                    entry.type, entry.linkname = tarfile.SYMTYPE, content
                    archive.addfile(entry)
                else:
                    entry.size = len(content)
                    archive.addfile(entry, io.BytesIO(content))
        return buffer.getvalue()

    with open(shutil.which("busybox"), "rb") as file:
        layer = tar({"bin/busybox": file.read(), **{f"bin/{name}": "busybox" for name in ("sh", "cat", "sleep", "echo")}})
    files, entries = {"layer.tar": layer}, []
    for name, command in (("docker.io/library/busybox:latest", ["sh"]),
                          ("koordctl.local/pause:1", ["/bin/busybox", "sleep", "2147483647"])):
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin"], "Cmd": command},
                             "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}})
        files[hashlib.sha256(config.encode()).hexdigest() + ".json"] = config.encode()
        entries.append({"Config": list(files)[-1], "RepoTags": [name], "Layers": ["layer.tar"]})
    return tar({**files, "manifest.json": json.dumps(entries).encode()})


def reason_to_skip():
    program = os.path.join(containerd_folder(), "containerd")
    if not os.access(program, os.X_OK) or not shutil.which("runc") or not shutil.which("busybox"):
        return "containerd, runc or busybox is not installed"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r" v?(\d+)\.(\d+)\.", said)
    if not version or (int(version[1]), int(version[2])) < (1, 7):
        return f"{said.strip()}: NRI needs 1.7 or newer; name the folder of one in KOORD_CONTAINERD"
    return None


if __name__ == "__main__":
    sys.exit(run_if_possible(NriTest, __doc__, why_not() or reason_to_skip()))
