#!/usr/bin/env python3
"""Clusters by name: koordctl up --name, ls, delete, pause, resume, snapshot, restore, the merged
kubeconfig and shell completion, with real programs and the real kubectl. Simulated nodes only.

Every wait polls a condition and has a limit; exit status 77 means that this machine cannot run it.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

from waiting import SKIP, Failure, check, wait_until

CONFIG_MAPS = 10000


class Home:
    """A home folder, so that clusters and kubeconfigs are those of this test."""

    def __init__(self, programs, folder, user):
        self.koordctl = os.path.join(programs, "koordctl")
        self.folder = folder
        self.user = user
        self.running = {}
        self.environment = {**os.environ, "HOME": folder}
        self.environment.pop("KUBECONFIG", None)

    def spawn(self, *arguments, **more):
        return subprocess.Popen([self.koordctl, *arguments], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                                user=self.user, **more)

    def run(self, *arguments, status=0, stdin=None):
        run = subprocess.run([self.koordctl, *arguments], env=self.environment, text=True, input=stdin,
                             capture_output=True, cwd=self.folder, timeout=120, check=False, user=self.user)
        check(run.returncode == status,
              f"koordctl {' '.join(arguments)}: status {run.returncode}, not {status}: {run.stdout}{run.stderr}")
        return run.stdout + run.stderr

    def up(self, name, *more):
        process = self.spawn("up", "--quiet", "--name", name, "--host-node=off", *more)
        self.running[name] = process
        line = process.stdout.readline()
        check(line == "ready\n", f"koordctl up --name {name}: {line!r}")
        return process

    def down(self, name):
        process = self.running.pop(name)
        process.send_signal(signal.SIGTERM)
        check(process.wait(timeout=30) == 0, f"{name} ended with {process.returncode}")

    def data(self, name):
        return os.path.join(self.folder, ".local/share/koordctl/clusters", name)

    def kubectl(self, *arguments, name=None, stdin=None, fails=False):
        which = ["--kubeconfig", self.data(name) + "/kubeconfig"] if name else []
        run = subprocess.run(["kubectl", *which, *arguments], env=self.environment, input=stdin, text=True,
                             capture_output=True, timeout=120, check=False, user=self.user)
        if fails:
            check(run.returncode != 0, f"kubectl {arguments} should have failed: {run.stdout}")
            return run.stderr
        check(run.returncode == 0, f"kubectl {' '.join(arguments)}: {run.stderr}")
        return run.stdout

    def states(self):
        clusters = json.loads(self.run("ls", "-o", "json"))["clusters"]
        return {cluster["name"]: cluster for cluster in clusters}

    def end(self):
        for process in self.running.values():
            process.kill()
            process.wait()


def cpu_of(pid):
    """CPU seconds of a process and of its children that run."""
    total = 0
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(entry) == pid or int(fields[1]) == pid:
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def several_at_once(home):
    home.up("a")
    home.up("b", "--nodes", "2")
    states = home.states()
    check(states["a"]["state"] == states["b"]["state"] == "running", str(states))
    check(states["a"]["server"] != states["b"]["server"], "two servers on one port")
    check((states["a"]["nodes"], states["b"]["nodes"]) == (3, 2), str(states))
    said = home.run("up", "--name", "a", "--host-node=off", status=1)
    check("is in use by another koordctl" in said and home.data("a") in said, said)
    home.down("b")
    check(home.states()["b"]["state"] == "stopped", "b did not stop")
    # The port stays, so that kubeconfigs stay valid.
    server = states["b"]["server"]
    home.up("b", "--nodes", "2")
    check(home.states()["b"]["server"] == server, "b has another port than before")


def pause_and_resume(home):
    home.kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3", name="a")
    wait_until("three pods run", lambda: home.kubectl(
        "get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}", name="a") == "3")
    home.run("pause", "--name", "a")
    home.run("pause", "--name", "a")  # again changes nothing
    check(home.states()["a"]["state"] == "paused", str(home.states()))
    process = home.running["a"]
    children = subprocess.run(["ps", "--ppid", str(process.pid), "-o", "args="], text=True,
                              capture_output=True, check=False).stdout
    check("koord-" not in children, f"components run in a pause: {children}")
    version = home.kubectl("get", "--raw", "/api/v1/nodes?limit=1", name="a")
    said = home.kubectl("scale", "deployment", "web", "--replicas=5", name="a", fails=True)
    check("is paused" in said and "koordctl resume" in said, said)
    check("yes" in home.kubectl("auth", "can-i", "create", "pods", name="a"), "can-i in a pause")
    same = json.loads(home.kubectl("get", "--raw", "/api/v1/nodes?limit=1", name="a"))
    check(same["metadata"]["resourceVersion"] == json.loads(version)["metadata"]["resourceVersion"],
          "something was written in a pause")
    home.run("resume", "--name", "a")
    home.kubectl("scale", "deployment", "web", "--replicas=5", name="a")
    wait_until("five pods run", lambda: home.kubectl(
        "get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}", name="a") == "5")
    nodes = home.kubectl("get", "nodes", name="a")
    check("NotReady" not in nodes, nodes)
    # A cluster that is paused can be stopped.
    home.run("pause", "--name", "a")
    home.down("a")
    home.up("a")


def objects_of(home, name):
    """What users see, without what changes by itself."""
    found = {}
    for kind in ("configmaps", "secrets", "deployments", "serviceaccounts", "persistentvolumes"):
        for item in json.loads(home.kubectl("get", kind, "-A", "-o", "json", name=name))["items"]:
            meta = item["metadata"]
            if meta.get("namespace") != "koordinator-system":
                found[kind, meta.get("namespace"), meta["name"]] = (meta["uid"], json.dumps(item.get("data")))
    return found


def snapshot_and_restore(home):
    many = {"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{i}", "namespace": "default"},
         "data": {"value": "x" * 500 + str(i)}} for i in range(CONFIG_MAPS)]}
    home.kubectl("create", "secret", "generic", "hidden", "--from-literal=word=tops3cret", name="a")
    load(home, "a", many["items"])
    before = objects_of(home, "a")
    check(len(before) > CONFIG_MAPS, f"{len(before)} objects")
    begun = time.monotonic()
    print(home.run("snapshot", "live.snap", "--name", "a").strip())
    taken = time.monotonic() - begun
    check(os.stat(home.folder + "/live.snap").st_mode & 0o777 == 0o600, "others may read the snapshot")
    check(not [name for name in os.listdir(home.data("a")) if name.startswith("copy-")], "a copy was left")
    said = home.run("snapshot", "live.snap", "--name", "a", status=1)
    check("live.snap" in said and "already" in said, said)
    begun = time.monotonic()
    print(home.run("restore", "live.snap", "--name", "c").strip())
    restored = time.monotonic() - begun
    check("there is a cluster already" in home.run("restore", "live.snap", "--name", "c", status=1), "twice")
    print(f"{CONFIG_MAPS} objects: snapshot {taken:.2f} s, restore {restored:.2f} s")
    home.up("c")
    check(objects_of(home, "c") == before, "the restored cluster has other objects")
    wait_until("the restored pods run", lambda: home.kubectl(
        "get", "deployment", "web", "-o", "jsonpath={.status.readyReplicas}", name="c") == "5")
    # Of a cluster that does not run, and of one that never was.
    home.down("c")
    home.run("snapshot", "stopped.snap", "--name", "c")
    check("there is no cluster" in home.run("snapshot", "x.snap", "--name", "never", status=1), "never")
    check(not os.path.exists(home.data("never")), "a folder was made for nothing")
    damaged(home)


def load(home, name, items):
    """Many objects at once; kubectl create takes a minute for ten thousand."""
    import ssl
    import base64
    import http.client
    config = json.loads(home.kubectl("config", "view", "--raw", "-o", "json", name=name))
    user = config["users"][0]["user"]
    context = ssl.create_default_context(
        cadata=base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile("w") as pem:
        for field in ("client-certificate-data", "client-key-data"):
            pem.write(base64.b64decode(user[field]).decode())
        pem.flush()
        context.load_cert_chain(pem.name)
    address = config["clusters"][0]["cluster"]["server"].removeprefix("https://")
    connection = http.client.HTTPSConnection(address, context=context)
    for item in items:
        connection.request("POST", "/api/v1/namespaces/default/configmaps", json.dumps(item),
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        check(answer.status == 201, f"create: {answer.status}")


def damaged(home):
    with open(home.folder + "/live.snap", "rb") as file:
        whole = file.read()
    with open(home.folder + "/half.snap", "wb") as file:
        file.write(whole[:len(whole) // 2])
    shutil.chown(home.folder + "/half.snap", home.user) if home.user else None
    said = home.run("restore", "half.snap", "--name", "d", status=1)
    check("half.snap" in said and "truncated or damaged" in said, said)
    check(not os.path.exists(home.data("d")), "half a cluster was left")
    check("not a snapshot" in home.run("restore", home.koordctl, "--name", "d", status=1), "a program is no snapshot")


def support_snapshot(home):
    kubeconfig = home.data("a") + "/kubeconfig"
    print(home.run("snapshot", "case.snap", "--support", "--kubeconfig", kubeconfig).strip())
    names = subprocess.run(["tar", "--zstd", "-tf", home.folder + "/case.snap"], capture_output=True, text=True,
                           check=True).stdout.split()
    check(any(name.startswith("objects/configmaps/") for name in names), str(names[:20]))
    check(not any("secrets" in name or name.startswith("data/") for name in names), "Secrets or keys in it")
    text = subprocess.run(["tar", "--zstd", "-xOf", home.folder + "/case.snap"], capture_output=True,
                          check=True).stdout
    check(b"tops3cret" not in text and b"dG9wczNjcmV0" not in text, "a Secret is in a support snapshot")
    check("a support snapshot has neither" in home.run("restore", "case.snap", "--name", "d", status=1), "restored")
    missing = home.folder + "/missing"
    check(missing in home.run("snapshot", "x.snap", "--kubeconfig", missing, status=1), "the file is not named")


def merged_kubeconfig(home):
    config = home.folder + "/.kube/config"
    home.kubectl("config", "set-cluster", "work", "--server=https://work:6443")
    home.kubectl("config", "set-context", "work", "--cluster=work")
    home.kubectl("config", "use-context", "work")
    home.up("m", "--merge-kubeconfig")
    check(home.kubectl("config", "current-context").strip() == "m", "the context is not m")
    check("sim-0" in home.kubectl("get", "nodes"), "kubectl does not reach m")
    check("work" in home.kubectl("config", "get-contexts", "-o", "name"), "another context is gone")
    # koordctl finds the components of a cluster by a kubeconfig that lies elsewhere.
    said = home.run("explain", "node", "sim-0", "--kubeconfig", config)
    check("sim-0" in said, said)
    home.down("m")
    check(home.kubectl("config", "current-context").strip() == "work", "the former context is not back")
    check("m" not in home.kubectl("config", "get-contexts", "-o", "name").split(), "the context was left")
    # A koordctl that was killed cannot clean up; delete does.
    home.up("m", "--merge-kubeconfig")
    process = home.running.pop("m")
    process.kill()
    process.wait()
    home.run("delete", "m")
    check("m" not in home.kubectl("config", "get-contexts", "-o", "name").split(), "delete left the context")
    home.environment["KUBECONFIG"] = home.folder + "/nowhere"
    said = home.run("status", status=1)
    check(home.folder + "/nowhere" in said, said)
    del home.environment["KUBECONFIG"]


def commands_in_a_shell(home):
    kubeconfig = home.data("a") + "/kubeconfig"
    words = home.run("__complete", "explain", "node", "--kubeconfig", kubeconfig, "sim").split()
    check(words == ["sim-0", "sim-1", "sim-2", ":"], str(words))
    words = home.run("__complete", "explain", "pod", f"--kubeconfig={kubeconfig}", "-n", "default", "web").split()
    check(len(words) == 6, str(words))
    words = home.run("__complete", "delete", "").splitlines()
    check(words[0].startswith("a\t"), str(words))
    pod = home.kubectl("get", "pods", "-o", "jsonpath={.items[0].metadata.name}", name="a")
    text = home.run("explain", "pod", pod, "-n", "default", "--kubeconfig", kubeconfig)
    answer = json.loads(home.run("explain", "pod", pod, "-n", "default", "-o", "json", "--kubeconfig", kubeconfig))
    check(pod in text and isinstance(answer, dict), text)
    manifest = home.kubectl("create", "deployment", "new", "--image=x", "--dry-run=client", "-o", "yaml", name="a")
    said = home.run("explain", "pod", "-f", "-", "--kubeconfig", kubeconfig, stdin=manifest)
    check("new-explained" in said, said)
    home.run("explain", "pod", status=2)
    home.run("explain", "pod", "missing", "--kubeconfig", kubeconfig, status=1)
    check('did you mean "status"?' in home.run("statsu", status=2), "no suggestion")
    check("did you mean --nodes?" in home.run("up", "--node=3", status=2), "no suggestion of a flag")
    if shutil.which("bash"):
        script = (f'PATH={os.path.dirname(home.koordctl)}:$PATH; source <(koordctl completion bash); '
                  'COMP_LINE="koordctl explain po"; COMP_POINT=${#COMP_LINE}; '
                  'COMP_WORDS=(koordctl explain po); COMP_CWORD=2; _koordctl; echo "${COMPREPLY[@]}"; '
                  'COMP_LINE="koordctl up --runtime=c"; COMP_POINT=${#COMP_LINE}; '
                  'COMP_WORDS=(koordctl up --runtime = c); COMP_CWORD=4; _koordctl; echo "${COMPREPLY[@]}"')
        said = subprocess.run(["bash", "-c", script], env=home.environment, capture_output=True, text=True,
                              check=False, user=home.user)
        check(said.stdout.split() == ["pod", "containerd"], said.stdout + said.stderr)


def delete(home):
    data = home.data("a")
    home.run("delete", "a")  # also while it runs
    check(home.running.pop("a").wait(timeout=10) == 0, "a was not stopped in good order")
    check(not os.path.exists(data), "the data folder was left")
    check("there is no such cluster" in home.run("delete", "a", status=1), "deleted twice")
    home.run("delete", "../../x", status=1)
    home.run("delete", status=2)
    home.run("delete", "b", "c")
    home.running.pop("b").wait(timeout=10)
    check("no clusters" in home.run("ls"), home.run("ls"))


def idle(home, seconds):
    """CPU of a whole cluster with 100 simulated nodes, in percent of a core."""
    process = home.up("idle", "--nodes", "100")
    time.sleep(10)
    before = cpu_of(process.pid)
    time.sleep(seconds)
    print(f"idle with 100 simulated nodes: {(cpu_of(process.pid) - before) / seconds * 100:.2f} % of a core")
    home.run("pause", "--name", "idle")
    before = cpu_of(process.pid)
    time.sleep(seconds)
    print(f"paused: {(cpu_of(process.pid) - before) / seconds * 100:.2f} % of a core")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--idle", type=int, default=0, help="only measure the idle cost, for that many seconds")
    arguments = parser.parse_args()
    if not shutil.which("kubectl"):
        print("skipped: kubectl is missing")
        return SKIP
    folder = tempfile.mkdtemp(prefix="koord-clusters-")
    # Root's default folder is /var/lib/koordctl, which is not the test's: run as another user.
    user = "nobody" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    home = Home(arguments.programs, folder, user)
    try:
        if arguments.idle:
            idle(home, arguments.idle)
            return 0
        for part in (several_at_once, pause_and_resume, snapshot_and_restore, support_snapshot, merged_kubeconfig,
                     commands_in_a_shell, delete):
            begun = time.monotonic()
            part(home)
            print(f"{part.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
        return 0
    except Failure as failure:
        print(f"failed: {failure}", file=sys.stderr)
        return 1
    finally:
        home.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
