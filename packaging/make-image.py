#!/usr/bin/env python3
"""Makes an OCI image of one program, without a registry, a daemon or root:

    make-image.py PROGRAM OUTPUT.tar [--tag koordinator-sh/koord-manager:v0.1.0]
    make-image.py PROGRAM FOLDER --folder

The image has one layer: the program, the shared libraries that it loads (as the loader of this machine finds
them) with their licences, the certificates of authorities that it may trust, and a user to run as. There is no
shell and no package manager in it. The same inputs give the same bytes, so an image that did not change keeps its
digest.

With --folder the files are written to a folder, for the Dockerfile. packaging/CMakeLists.txt says which programs have
images, and which users they run as.

Import it with `ctr -n k8s.io images import OUTPUT.tar`, or push it with any tool that reads OCI archives.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile

import libraries

CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# Name look-ups: glibc loads these by name, so ldd does not show them.
LOADED_BY_NAME = ("libnss_dns.so.2", "libnss_files.so.2", "libresolv.so.2")
PASSWD = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"
NSSWITCH = "hosts: files dns\n"
DOCUMENTS = "/usr/share/doc/koordinator"


def libraries_of(program):
    """Paths in the image to files of this machine."""
    found = libraries.of_program(program)
    folder = next((os.path.dirname(path) for path in found if "libc.so" in path), "/lib/x86_64-linux-gnu")
    for name in LOADED_BY_NAME:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            found.setdefault(path, os.path.realpath(path))
    return found


def stripped(path):
    """The program without symbols, which are most of it."""
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(["strip", "-o", copy.name, path], check=True)
        return open(copy.name, "rb").read()


class Layer:
    """A tar archive whose entries have no times and no owners."""

    def __init__(self):
        self.buffer = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.buffer, mode="w", format=tarfile.PAX_FORMAT)
        self.folders = set()

    def folder(self, path, mode=0o755):
        if path and path not in self.folders:
            self.folder(os.path.dirname(path))
            self.folders.add(path)
            entry = tarfile.TarInfo(path + "/")
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            self.tar.addfile(entry)

    def file(self, path, content, mode=0o644):
        path = path.lstrip("/")
        self.folder(os.path.dirname(path))
        entry = tarfile.TarInfo(path)
        entry.size, entry.mode = len(content), mode
        self.tar.addfile(entry, io.BytesIO(content))

    def bytes(self):
        self.tar.close()
        return self.buffer.getvalue()


def layer_of(program):
    layer = Layer()
    layer.file(os.path.basename(program), stripped(program), 0o755)
    brought = libraries_of(program)
    for path, source in sorted(brought.items()):
        with open(source, "rb") as file:
            layer.file(path, file.read(), 0o755)
    certificates = os.path.exists(CERTIFICATES)
    if certificates:
        with open(CERTIFICATES, "rb") as file:
            layer.file(CERTIFICATES, file.read())
    notices = libraries.notices(brought.values(), ["ca-certificates"] if certificates else [])
    for name, content in sorted(notices.items()):
        layer.file(f"{DOCUMENTS}/{name}", content)
    layer.file("/etc/passwd", PASSWD.encode())
    layer.file("/etc/nsswitch.conf", NSSWITCH.encode())
    layer.folder("tmp", 0o1777)
    return layer.bytes()


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("output")
    parser.add_argument("--tag")
    # koordlet works on the host's cgroups.
    parser.add_argument("--user", default="65532:65532")
    parser.add_argument("--folder", action="store_true", help="write the files of the layer to the folder OUTPUT")
    options = parser.parse_args()
    name = os.path.basename(options.program)
    tag = options.tag or f"koordinator-sh/{name}:latest"

    layer = layer_of(options.program)
    if options.folder:
        tarfile.open(fileobj=io.BytesIO(layer)).extractall(options.output)
        return
    packed = gzip.compress(layer, compresslevel=6, mtime=0)  # level 9: half a percent smaller, three times the time
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "created": "1970-01-01T00:00:00Z",
        "config": {"Entrypoint": ["/" + name], "User": options.user, "WorkingDir": "/",
                   "Env": ["SSL_CERT_FILE=" + CERTIFICATES]},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
        "history": [{"created_by": "make-image.py", "created": "1970-01-01T00:00:00Z"}]}).encode()
    descriptor = lambda kind, data: {"mediaType": f"application/vnd.oci.image.{kind}",
                                     "digest": digest(data), "size": len(data)}
    manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                           "config": descriptor("config.v1+json", config),
                           "layers": [descriptor("layer.v1.tar+gzip", packed)]}).encode()
    entry = descriptor("manifest.v1+json", manifest)
    entry["annotations"] = {"io.containerd.image.name": "docker.io/" + tag,
                            "org.opencontainers.image.ref.name": tag.rsplit(":", 1)[1]}
    index = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                        "manifests": [entry]}).encode()

    archive = Layer()
    archive.file("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
    archive.file("index.json", index)
    for blob in (config, packed, manifest):
        archive.file("blobs/sha256/" + digest(blob)[7:], blob)
    os.makedirs(os.path.dirname(os.path.abspath(options.output)), exist_ok=True)
    with open(options.output, "wb") as file:
        file.write(archive.bytes())
    print(f"{options.output}: {tag}, {len(packed) / 2**20:.1f} MiB packed, {len(layer) / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
