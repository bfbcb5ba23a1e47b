"""A home folder with clusters of koordctl, for the tests of clusters by name."""

import base64
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time

from waiting import Failure, check


class Home:
    """A home folder, so that clusters and kubeconfigs are those of this test."""

    def __init__(self, programs, folder, user):
        self.koordctl = os.path.join(os.path.abspath(programs), "koordctl")
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


def config_map(name, data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


class Connection:
    """One connection to the API server of a cluster; kubectl create takes a minute for ten thousand objects."""

    FOLDER = "/api/v1/namespaces/default/configmaps"

    def __init__(self, home, name):
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
        self.connection = http.client.HTTPSConnection(address, context=context)

    def send(self, method, path, body):
        self.connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read()
        check(answer.status < 300, f"{method} {path}: {answer.status} {text[:300]}")
        return text

    def list(self, path):
        return json.loads(self.send("GET", path, None))["items"]

    def create(self, item):
        self.send("POST", self.FOLDER, item)

    def replace(self, item):
        self.send("PUT", self.FOLDER + "/" + item["metadata"]["name"], item)


def run_parts(programs, parts):
    """Runs the parts of a test one after the other in one home folder; returns the exit status."""
    folder = tempfile.mkdtemp(prefix="koord-clusters-")
    # Root's default folder is /var/lib/koordctl, which is not the test's: run as another user.
    user = "nobody" if os.geteuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    home = Home(programs, folder, user)
    try:
        for part in parts:
            begun = time.monotonic()
            part(home)
            print(f"{getattr(part, '__name__', 'part')}: {time.monotonic() - begun:.1f} s", flush=True)
        return 0
    except Failure as failure:
        print(f"failed: {failure}", file=sys.stderr)
        return 1
    finally:
        home.end()
        shutil.rmtree(folder, ignore_errors=True)
