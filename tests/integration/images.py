#!/usr/bin/env python3
"""Makes the images of the programs and runs them with a containerd of their own, without a registry.

    images.py --programs FOLDER --source REPOSITORY

Needs root, containerd, ctr and runc; ends with 77 without them.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAMS = ("koord-manager", "koord-scheduler", "koord-descheduler", "koordlet", "koord-device-daemon",
            "koord-runtime-proxy")
MADE_TWICE = "koord-device-daemon"  # the smallest; the images of all programs are made alike
AS_ROOT = ("koordlet", "koord-device-daemon", "koord-runtime-proxy")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


class Containerd:
    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="koord-images-")
        self.socket = os.path.join(self.folder, "socket")
        config = os.path.join(self.folder, "config.toml")
        with open(config, "w") as file:
            file.write(f'version = 2\nroot = "{self.folder}/root"\nstate = "{self.folder}/state"\n'
                       'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
                       f'[grpc]\n  address = "{self.socket}"\n')
        self.log = open(os.path.join(self.folder, "log"), "w")
        self.process = subprocess.Popen(["containerd", "-c", config], stdout=self.log, stderr=self.log)
        for _ in range(200):
            if os.path.exists(self.socket) and self.ctr("version")[0] == 0:
                return self
            time.sleep(0.05)
        with open(self.log.name) as file:
            text = file.read()
        self.__exit__()
        raise SystemExit("containerd does not start:\n" + text)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ctr(self, *arguments):
        return run("ctr", "-a", self.socket, "-n", "images", *arguments)


def install_on_host(containerd):
    """The image of the proxy puts the proxy on the machine whose root it is given, where it runs without the image."""
    name = "koord-runtime-proxy"
    host = os.path.join(containerd.folder, "host")
    os.makedirs(host)
    failed = []
    for turn in ("first", "again"):
        status, said = containerd.ctr("run", "--rm", "--snapshotter", "native", "--mount", f"type=bind,src={host},dst=/host,options=rbind:rw",
                                      f"docker.io/koordinator-sh/{name}:test", f"install-{turn}", f"/{name}", "--install-into=/host")
        if status != 0:
            failed.append(f"--install-into, {turn}: {status} {said}")
    if failed:
        return failed
    folder = f"{host}/opt/koordinator/{name}"
    status, said = run(f"{folder}/lib/ld-linux-x86-64.so.2", "--library-path", f"{folder}/lib", f"{folder}/{name}", "--version")
    if status != 0 or name not in said:
        failed.append(f"what was installed does not run: {status} {said}")
    units = f"{host}/etc/systemd/system"
    with open(f"{units}/{name}.service") as unit:
        if f"ExecStart=/opt/koordinator/{name}/lib/" not in unit.read():
            failed.append("the service does not start what was installed")
    if not os.path.exists(f"{units}/multi-user.target.wants/{name}.service"):
        failed.append("the service is not switched on")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    if os.geteuid() != 0 or not all(shutil.which(tool) for tool in ("containerd", "ctr", "runc")):
        print("skipped: it takes root, containerd, ctr and runc")
        sys.exit(77)
    failed = []
    make = os.path.join(options.source, "packaging", "make-image.py")
    with Containerd() as containerd:
        for name in PROGRAMS:
            program = os.path.join(options.programs, name)
            archives = []
            for attempt in ("first", "second") if name == MADE_TWICE else ("first",):
                archive = os.path.join(containerd.folder, f"{name}-{attempt}.tar")
                user = ("--user", "0:0") if name in AS_ROOT else ()
                status, said = run(make, program, archive, "--tag", f"koordinator-sh/{name}:test", *user)
                if status != 0:
                    raise SystemExit(said)
                archives.append(open(archive, "rb").read())
            print(said.strip())
            if archives[0] != archives[-1]:
                failed.append(f"{name}: the same program gives the same image")
            status, said = containerd.ctr("images", "import", archive)
            if status != 0:
                failed.append(f"{name}: import: {said}")
                continue
            image = f"docker.io/koordinator-sh/{name}:test"
            status, said = containerd.ctr("run", "--rm", "--snapshotter", "native", image, f"{name}-1",
                                          f"/{name}", "--version")
            if status != 0 or name not in said:
                failed.append(f"{name} --version: {status} {said}")
            status, said = containerd.ctr("run", "--rm", "--snapshotter", "native", image, f"{name}-2", "/bin/sh")
            if status == 0:
                failed.append(f"{name}: there is a shell in it")
        failed += install_on_host(containerd)
    for what in failed:
        print("FAILED:", what)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
