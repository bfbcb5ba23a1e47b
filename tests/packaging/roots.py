"""Root file systems of other releases, made by debootstrap and kept for the next run."""

import os
import shutil
import subprocess
import tempfile

MIRROR = "http://deb.debian.org/debian"


class Skip(Exception):
    """Why this host cannot run the test."""


def run(*command, timeout=900, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def requirements():
    if os.geteuid() != 0:
        raise Skip("needs root")
    for tool in ("debootstrap", "unshare", "chroot", "patchelf", "dh"):
        if not shutil.which(tool):
            raise Skip(f"needs {tool}: scripts/install-packages.sh debootstrap debhelper patchelf")


def base(release, folder, mirror=MIRROR, keyring=None):
    """A tar archive of the release, of Ubuntu with its mirror and keyring."""
    archive = os.path.join(folder, release + ".tar")
    if os.path.exists(archive):
        return archive
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        root = os.path.join(work, release)
        # Debian's debootstrap does not know Ubuntu's newest names; all have the same script.
        ubuntu = [f"--keyring={keyring}"] if keyring else []
        script = ["/usr/share/debootstrap/scripts/gutsy"] if keyring else []
        done = subprocess.run(["debootstrap", "--variant=minbase", *ubuntu, release, root, mirror, *script],
                              capture_output=True, text=True, timeout=1800)
        if done.returncode != 0:
            raise Skip(f"debootstrap {release} from {mirror} failed:\n{done.stdout[-1000:]}{done.stderr[-500:]}")
        run("tar", "-C", root, "-cf", archive + ".new", ".")
    os.rename(archive + ".new", archive)
    return archive


class Root:
    """A root file system of its own, gone at the end. Its programs see their own processes only, and this host's network."""

    def __init__(self, archive, folder=None):
        self.path = tempfile.mkdtemp(prefix="koord-root-", dir=folder)
        run("tar", "-C", self.path, "-xf", archive)
        shutil.copyfile("/etc/resolv.conf", self.at("etc/resolv.conf"))
        # As in images of containers: services are registered and not started.
        with open(self.at("usr/sbin/policy-rc.d"), "w") as file:
            file.write("#!/bin/sh\nexit 101\n")
        os.chmod(self.at("usr/sbin/policy-rc.d"), 0o755)

    def at(self, path):
        return os.path.join(self.path, path.lstrip("/"))

    def command(self, *words):
        mounted = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", mounted, self.path, *words]

    def environment(self, **more):
        return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
                "DEBIAN_FRONTEND": "noninteractive", **more}

    def run(self, *words, timeout=900, **more):
        return run(*self.command(*words), timeout=timeout, env=self.environment(**more))

    def files(self, ignored=()):
        """{path} below the root, but for folders that packages of Debian change by themselves."""
        found = set()
        for folder, folders, files in os.walk(self.path):
            below = os.path.normpath("/" + os.path.relpath(folder, self.path))
            folders[:] = [one for one in folders if os.path.join(below, one) not in ignored]
            found.update(os.path.join(below, one) for one in folders + files)
        return found

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)
