#!/usr/bin/env python3
"""Images of the host node with containerd: from a registry, with and without credentials, from files and folders.

The registry is a server of this test, and the images are made here of busybox, so nothing outside is needed. Exit status
77 means that this machine cannot run it.
"""

import base64
import hashlib
import http.server
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading

from one_machine import CONTAINERD_PACKAGES, Cluster, check, run_if_possible, wait_until, why_not

USER = "Basic " + base64.b64encode(b"me:secret").decode()
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def tar_of(files):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.mode = 0o755
            tar.addfile(info, io.BytesIO(content))
    return data.getvalue()


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Image:
    """An image whose command prints its words, then waits; it runs as a user that is not root."""

    def __init__(self, words):
        with open(shutil.which("busybox"), "rb") as file:
            self.layer = tar_of({"bin/busybox": file.read(), "etc/passwd": b"app:x:1234:1234::/:/bin/sh\n"})
        command = ["/bin/busybox", "sh", "-c", f"echo {words} $FLAVOUR $(/bin/busybox id -u); /bin/busybox sleep 1000"]
        self.config = json.dumps({
            "architecture": "amd64", "os": "linux",
            "config": {"Cmd": command, "Env": ["PATH=/bin", "FLAVOUR=sweet"], "User": "1234"},
            "rootfs": {"type": "layers", "diff_ids": [digest(self.layer)]}}).encode()
        self.manifest = json.dumps({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": {"mediaType": "application/vnd.docker.container.image.v1+json",
                       "digest": digest(self.config), "size": len(self.config)},
            "layers": [{"mediaType": "application/vnd.docker.image.rootfs.diff.tar",
                        "digest": digest(self.layer), "size": len(self.layer)}]}).encode()

    def blobs(self):
        return {digest(data): data for data in (self.layer, self.config, self.manifest)}

    def save(self, path, tag):
        """As docker save."""
        manifest = [{"Config": "config.json", "RepoTags": [tag], "Layers": ["layer.tar"]}]
        with open(path, "wb") as file:
            file.write(tar_of({"config.json": self.config, "layer.tar": self.layer,
                               "manifest.json": json.dumps(manifest).encode()}))

    def layout(self, folder, tag):
        """As an OCI layout."""
        os.makedirs(os.path.join(folder, "blobs/sha256"))
        for name, data in self.blobs().items():
            with open(os.path.join(folder, "blobs/sha256", name.removeprefix("sha256:")), "wb") as file:
                file.write(data)
        index = {"schemaVersion": 2, "manifests": [{
            "mediaType": MANIFEST, "digest": digest(self.manifest), "size": len(self.manifest),
            "annotations": {"io.containerd.image.name": tag}}]}
        for name, content in (("oci-layout", {"imageLayoutVersion": "1.0.0"}), ("index.json", index)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                json.dump(content, file)


class Registry(http.server.ThreadingHTTPServer):
    """Serves one image under the names open and closed; closed needs the user."""

    def __init__(self, image):
        self.image = image
        self.requests = []
        super().__init__(("127.0.0.1", 0), RegistryHandler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def name(self):
        return f"127.0.0.1:{self.server_address[1]}"


class RegistryHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        parts = self.path.split("?")[0].strip("/").split("/")
        self.server.requests.append(self.path)
        if len(parts) != 4 or (parts[1] == "closed" and self.headers.get("Authorization") != USER):
            self.send_response(401 if parts[0] == "v2" and len(parts) == 4 else 200)
            self.send_header("WWW-Authenticate", 'Basic realm="test"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        image = self.server.image
        data = image.manifest if parts[3] == "1" else image.blobs().get(parts[3])
        self.send_response(200 if data else 404)
        self.send_header("Content-Type", MANIFEST if parts[2] == "manifests" else "application/octet-stream")
        self.send_header("Content-Length", str(len(data or b"")))
        if data:
            self.send_header("Docker-Content-Digest", digest(data))
        self.end_headers()
        if data and self.command == "GET":
            self.wfile.write(data)


class ImagesTest:
    def __init__(self, programs, source, folder):
        self.archives = os.path.join(folder, "archives")
        os.makedirs(self.archives)
        Image("of the folder").save(os.path.join(self.archives, "one.tar"), "example.test/folder:1")
        self.cluster = Cluster(programs, folder, "--host-node=on", "--runtime=auto", "--images", self.archives)
        self.folder = folder
        self.registry = Registry(Image("of the registry"))

    def steps(self):
        return (self.auto_takes_containerd, self.a_folder_is_loaded_at_start, self.registries_give_images,
                self.credentials_open_registries, self.files_and_layouts_are_loaded, self.mistakes_are_named,
                self.ends, self.a_wrong_folder_is_an_error_also_with_auto)

    def auto_takes_containerd(self):
        self.cluster.start()
        version = self.cluster.get("nodes")["items"][0]["status"]["nodeInfo"]["containerRuntimeVersion"]
        check(version.startswith("containerd://"), f"container runtime: {version}")

    def run_image(self, name, image, **more):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
               "spec": {"terminationGracePeriodSeconds": 0, "securityContext": {"runAsNonRoot": True},
                        "containers": [{"name": "main", "image": image,
                                        "resources": {"requests": {"cpu": "20m"}}}], **more}}
        self.cluster.kubectl("apply", "-f", "-", stdin=json.dumps(pod))

    def says(self, name, words):
        log = wait_until(f"the words of {name}", lambda: self.cluster.kubectl("logs", name), 60)
        check(log == words + " sweet 1234\n", f"{name} says {log!r}")

    def waits_with(self, name, reason):
        def state():
            states = self.cluster.get("pod", name)["status"].get("containerStatuses", [])
            return states and states[0]["state"].get("waiting")
        return wait_until(f"{reason} of {name}", lambda: (state() or {}).get("reason") == reason and state(), 60)

    def a_folder_is_loaded_at_start(self):
        self.run_image("folder", "example.test/folder:1")
        self.says("folder", "of the folder")

    def registries_give_images(self):
        self.run_image("open", self.registry.name + "/open:1")
        self.says("open", "of the registry")
        wait_until("the event", lambda: "Successfully pulled image" in self.cluster.kubectl("get", "events"))

    def credentials_open_registries(self):
        self.run_image("closed", self.registry.name + "/closed:1", imagePullSecrets=[{"name": "pull"}])
        waiting = self.waits_with("closed", "ErrImagePull")
        check("koordctl image load" in waiting["message"], waiting["message"])
        self.cluster.kubectl("create", "secret", "docker-registry", "pull", "--docker-username=me",
                             "--docker-password=secret", "--docker-server=" + self.registry.name)
        self.says("closed", "of the registry")

    def load(self, *sources, fails=False):
        run = subprocess.run([os.path.join(self.cluster.programs, "koordctl"), "image", "load", "--data-dir",
                              self.cluster.data, *sources], capture_output=True, text=True, check=False)
        check((run.returncode != 0) == fails, f"image load {sources}: {run.stdout} {run.stderr}")
        return run.stderr if fails else run.stdout

    def files_and_layouts_are_loaded(self):
        """Also for the policy Always: the registry of these names does not exist."""
        file = os.path.join(self.folder, "image.tar")
        Image("of the file").save(file, "example.test/file:latest")
        layout = os.path.join(self.folder, "layout")
        Image("of the layout").layout(layout, "example.test/layout:latest")
        said = self.load(file, layout)
        check(said == "loaded example.test/file:latest\nloaded example.test/layout:latest\n", said)
        self.run_image("file", "example.test/file")
        self.says("file", "of the file")
        self.run_image("layout", "example.test/layout")
        self.says("layout", "of the layout")

    def mistakes_are_named(self):
        garbage = os.path.join(self.folder, "garbage.tar")
        with open(garbage, "wb") as file:
            file.write(b"no archive" * 1000)
        check(garbage in self.load(garbage, fails=True), "the file is not named")
        check("does not exist" in self.load("/nowhere.tar", fails=True), "a missing file")
        check("is not the name of an image" in self.load("--", "-x", fails=True), "an option as a name")
        self.run_image("never", "example.test/never:1")
        self.waits_with("never", "ErrImagePull")

    def ends(self):
        self.cluster.kubectl("delete", "pod", "--all", "--timeout=60s")
        self.cluster.stop()
        run = subprocess.run([os.path.join(self.cluster.programs, "koordctl"), "image", "load", "--data-dir",
                              self.cluster.data, "x.tar"], capture_output=True, text=True, check=False)
        check(run.returncode == 1 and "no containerd" in run.stderr, run.stderr)

    def a_wrong_folder_is_an_error_also_with_auto(self):
        run = subprocess.run([os.path.join(self.cluster.programs, "koordctl"), "up", "--data-dir",
                              os.path.join(self.folder, "other"), "--host-node=on", "--runtime=auto", "--images",
                              "/nothing"], capture_output=True, text=True, timeout=60, check=False)
        check(run.returncode != 0 and "--images: /nothing" in run.stderr, run.stderr)


if __name__ == "__main__":
    sys.exit(run_if_possible(ImagesTest, __doc__, why_not(CONTAINERD_PACKAGES)))
