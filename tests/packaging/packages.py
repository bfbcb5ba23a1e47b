#!/usr/bin/env python3
"""Makes the Debian packages and the tar archive, and uses them in fresh root file systems:

    packages.py --build BUILD --source REPOSITORY [--roots FOLDER] [--ubuntu MIRROR --ubuntu-keyring FILE]

Debian 12: the packages are installed by apt, run a cluster, show manuals, complete words, and leave nothing when they
are purged. Debian 12 and 13, and Ubuntu with --ubuntu MIRROR: the archive runs a cluster. Both are made twice, with the
same bytes. Needs root, debootstrap and a mirror; ends with 77 without them.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

import services
from roots import MIRROR, Root, Skip, base, requirements, run

# What installing any package changes.
CHANGED_BY_APT = ("/proc", "/dev", "/sys", "/run", "/tmp", "/var/lib/apt", "/var/cache", "/var/lib/dpkg", "/var/log",
                  "/var/lib/systemd", "/var/lib/pam", "/var/lib/ucf", "/var/lib/containerd", "/opt/containerd", "/etc/cni", "/var/tmp")
KEYRING = "/usr/share/keyrings/ubuntu-archive-keyring.gpg"
KUBECONFIG = "/tmp/kubeconfig"


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def sums(paths):
    result = {}
    for path in paths:
        with open(path, "rb") as file:
            result[os.path.basename(path)] = hashlib.sha256(file.read()).hexdigest()
    return result


class Cluster:
    """`koordctl up` in a root, until the end of the block."""

    def __init__(self, root, program="koordctl", *flags):
        self.root = root
        self.process = subprocess.Popen(
            root.command(program, "up", "--listen", "127.0.0.1:0", "--host-node=off", "--nodes", "3", "--quiet", "--kubeconfig",
                         KUBECONFIG, *flags),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=root.environment())

    def __enter__(self):
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line.strip() == "ready":
                return self
        self.process.wait()
        raise AssertionError(f"koordctl up ended with {self.process.returncode}:\n{''.join(lines)}")

    def __exit__(self, *_):
        # The process of unshare: koordctl is its child's child.
        children = run("ps", "-e", "-o", "pid=,comm=,args=").splitlines()
        pids = [int(line.split()[0]) for line in children if line.split()[1] == "koordctl" and KUBECONFIG in line]
        for pid in pids:
            if os.path.realpath(f"/proc/{pid}/root") == os.path.realpath(self.root.path):
                os.kill(pid, 15)
        self.process.wait(timeout=60)

    def kubectl(self, *words):
        return self.root.run("kubectl", "--kubeconfig", KUBECONFIG, "--cache-dir", "/tmp/kube-cache", *words)

    def use(self, kubectl):
        """A Deployment becomes ready on simulated nodes, placed by koord-scheduler."""
        kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3")
        kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        nodes = kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}").split()
        check(len(nodes) == 3 and all(node.startswith("sim-") for node in nodes), f"pods on {nodes}")
        said = self.root.run(self.process.args[self.process.args.index("up") - 1], "status", "--kubeconfig", KUBECONFIG)
        check("sim-0" in said, f"koordctl status:\n{said}")


def host_kubectl(root):
    """kubectl of this host, for roots whose release does not have one that is small."""
    def call(*words):
        return run("kubectl", "--kubeconfig", root.at(KUBECONFIG), *words)
    return call


def install(root, debs):
    os.makedirs(root.at("debs"), exist_ok=True)
    for deb in debs:
        shutil.copy(deb, root.at("debs"))
    root.run("sh", "-c", "apt-get install -y -q --no-install-recommends /debs/*.deb", timeout=1800)


def look_at_manuals(root):
    for name, words in (("koordctl", "koordctl-up"), ("koordctl-up", "--host-node"), ("koord-scheduler", "--config"),
                        ("koordlet", "/etc/koordinator/koordlet.kubeconfig")):
        page = root.run("sh", "-c", f"man {name} | col -b", MANPAGER="cat", MANWIDTH="100")
        check(words in page, f"man {name} does not have {words}:\n{page[:500]}")


def look_at_completion(root):
    script = 'source /usr/share/bash-completion/bash_completion; _completion_loader koordctl; complete -p koordctl; '
    script += 'COMP_WORDS=(koordctl st); COMP_CWORD=1; COMP_LINE="koordctl st"; COMP_POINT=11; '
    script += '$(complete -p koordctl | sed "s/.*-F \\([^ ]*\\) .*/\\1/") koordctl st koordctl; echo "offers: ${COMPREPLY[*]}"'
    said = root.run("bash", "-c", script)
    check("offers: status" in said, f"bash completes koordctl st:\n{said}")


def look_at_services(root):
    """Only the service that needs nothing is enabled."""
    wanted = os.listdir(root.at("etc/systemd/system/multi-user.target.wants"))
    ours = [name for name in wanted if name.startswith("koord")]
    check(ours == ["koord-device-daemon.service"], f"enabled: {ours}")


def look_at_conffiles(root):
    listed = root.run("dpkg-query", "-W", "-f", "${Conffiles}\n", "koord-scheduler", "koord-descheduler", "koordlet", "koordctl")
    for name in ("/etc/koordinator/koord-scheduler.yaml", "/etc/koordinator/koord-descheduler.yaml", "/etc/default/koordlet",
                 "/etc/default/koordctl"):
        check(name in listed, f"{name} is not a conffile:\n{listed}")


def check_packages(debs, roots):
    archive = base("bookworm", roots)
    root = Root(archive)
    try:
        root.run("apt-get", "update", "-q")
        root.run("sh", "-c", "rm -f /etc/dpkg/dpkg.cfg.d/*; apt-get install -y -q --no-install-recommends man-db bsdextrautils groff-base"
                 " bash-completion kubernetes-client systemd-sysv dbus ca-certificates containerd", timeout=1800)
        before = root.files(CHANGED_BY_APT)
        packages_before = root.run("dpkg-query", "-W", "-f", "${Package}\n").split()
        install(root, debs)
        look_at_manuals(root)
        look_at_completion(root)
        look_at_services(root)
        look_at_conffiles(root)
        with Cluster(root) as cluster:
            cluster.use(cluster.kubectl)
        check(os.path.exists(root.at("var/lib/koordctl")), "no data folder")
        services.check_services(root)
        # As a user of the services leaves it.
        for name in ("koordlet", "koord-scheduler", "koord-manager"):
            with open(root.at(f"etc/koordinator/{name}.kubeconfig"), "w") as file:
                file.write("secret\n")
        os.makedirs(root.at("run/koordlet/xpu-device-infos"), exist_ok=True)
        root.run("apt-get", "purge", "-y", "-q", "koordlet")
        check(os.listdir(root.at("run/koordlet")) == ["xpu-device-infos"], "the purge of koordlet removes what koord-device-daemon has")
        install(root, debs)
        shutil.rmtree(root.at("debs"))
        ours = [name for name in root.run("dpkg-query", "-W", "-f", "${Package}\n").split() if name.startswith("koord")]
        check(len(ours) == len(debs), f"installed: {ours}")
        root.run("apt-get", "remove", "-y", "-q", *ours)
        check(os.path.exists(root.at("etc/koordinator/koord-scheduler.yaml")), "a removal without purge takes conffiles")
        check(not os.path.exists(root.at("usr/bin/koordctl")), "a removal leaves programs")
        root.run("apt-get", "purge", "-y", "-q", *ours)
        added = set(root.run("dpkg-query", "-W", "-f", "${Package}\n").split()) - set(packages_before)
        root.run("apt-get", "purge", "-y", "-q", *sorted(added))
        left = sorted(path for path in root.files(CHANGED_BY_APT) - before if not path.startswith("/etc/ld.so.cache"))
        check(not left, f"left after purge: {left}")
        print("packages: installed, used and purged in Debian 12", flush=True)
    finally:
        root.remove()


def check_archive(archive, release, roots, mirror=MIRROR, keyring=None):
    root = Root(base(release, roots, mirror, keyring))
    try:
        run("tar", "-C", root.at("opt"), "-xzf", archive)
        bin_ = f"/opt/{os.path.basename(archive).removesuffix('.tar.gz')}/bin"
        for program in sorted(os.listdir(root.at(bin_))):
            said = root.run(f"{bin_}/{program}", "version" if program == "koordctl" else "--version")
            check(re.search(r"\d+\.\d+\.\d+", said), f"{program}: {said}")
        with Cluster(root, f"{bin_}/koordctl") as cluster:
            cluster.use(host_kubectl(root))
            snapshot = root.run(f"{bin_}/koordctl", "snapshot", "/tmp/a.snap")  # libarchive
            check(os.path.getsize(root.at("tmp/a.snap")) > 1000, snapshot)
        print(f"archive: runs in {release}", flush=True)
    finally:
        root.remove()


def make(build, source, folder):
    environment = dict(os.environ)
    run(os.path.join(source, "packaging", "make-deb.sh"), build, os.path.join(folder, "deb"), env=environment)
    date = run(os.path.join(source, "packaging", "date.sh")).strip()
    version = run(os.path.join(source, "scripts", "version.sh")).strip()
    archive = os.path.join(folder, f"koordinator-{version}-linux-amd64.tar.gz")
    run(os.path.join(source, "packaging", "make-tarball.py"), build, archive, "--date", date)
    debs = sorted(os.path.join(folder, "deb", name) for name in os.listdir(os.path.join(folder, "deb")) if name.endswith(".deb"))
    check(len(debs) == 8, f"packages: {debs}")
    return debs, archive


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--roots", help="where root file systems are kept; default: in the build folder")
    parser.add_argument("--ubuntu", help="mirror of Ubuntu, for 22.04 and 24.04")
    parser.add_argument("--ubuntu-keyring", default=KEYRING, help="of the package ubuntu-keyring; default: %(default)s")
    options = parser.parse_args()
    source = os.path.abspath(options.source)
    roots = options.roots or os.path.join(options.build, "roots")
    try:
        requirements()
        base("bookworm", roots)
    except Skip as why:
        print(f"skipped: {why}")
        sys.exit(77)
    run("cmake", "--build", options.build, "--target", "packaged", timeout=3000)
    with tempfile.TemporaryDirectory(prefix="koord-packages-") as folder:
        debs, archive = make(options.build, source, os.path.join(folder, "one"))
        debs_again, archive_again = make(options.build, source, os.path.join(folder, "two"))
        check(sums([*debs, archive]) == sums([*debs_again, archive_again]), "made twice, with other bytes")
        check_packages(debs, roots)
        for release in ("bookworm", "trixie"):
            check_archive(archive, release, roots)
        for release in ("jammy", "noble") if options.ubuntu else ():
            check_archive(archive, release, roots, options.ubuntu, options.ubuntu_keyring)


if __name__ == "__main__":
    main()
