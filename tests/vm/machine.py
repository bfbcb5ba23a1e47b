"""A virtual machine with the programs in it: Debian's cloud kernel, an initramfs made here, cgroup version 2 and two
sockets, emulated by QEMU, so that it starts on machines without virtualisation, too.

Commands are given to it over HTTP (busybox' httpd with a shell behind it, forwarded from a port of loopback); the
kernel's console is in a file.
"""

import glob
import os
import re
import shutil
import socket
import stat
import subprocess
import time
import urllib.request

QEMU = "qemu-system-x86_64"
DEVICES = ("virtio_pci", "virtio_net", "virtio_blk")

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /root /var/lib /etc /sbin /usr/bin
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t debugfs debug /sys/kernel/debug
for module in $(cat /modules/order); do insmod /modules/$module; done
hostname vm
ifconfig lo 127.0.0.1 up
ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up
route add default gw 10.0.2.2
httpd -p 80 -h /www
echo up > /dev/console
while :; do sleep 1000; done
"""

SHELL = """#!/bin/sh
printf 'Content-Type: text/plain\\r\\n\\r\\n'
export PATH=/bin HOME=/root
cd /root
sh 2>&1
printf '\\n%s' $?
"""


def why_not(roots):
    """What is missing here to run a machine; empty when nothing is."""
    missing = []
    if not shutil.which(QEMU):
        missing.append(f"{QEMU} is not installed (apt-get install --no-install-recommends qemu-system-x86)")
    busybox = shutil.which("busybox")
    if not busybox or subprocess.run(["ldd", busybox], capture_output=True, check=False).returncode == 0:
        missing.append("there is no static busybox (apt-get install busybox-static)")
    if not kernel_of(roots):
        missing.append(f"there is no boot/vmlinuz-*-cloud-amd64 with its modules below {' or '.join(roots)} "
                       "(scripts/vm-kernel.sh gets one; KOORD_VM_ROOT names another folder)")
    return "; ".join(missing)


def kernel_of(roots):
    """(kernel, folder of its modules), the newest below these folders."""
    found = []
    for root in roots:
        for kernel in glob.glob(os.path.join(root, "boot/vmlinuz-*-cloud-amd64")):
            modules = os.path.join(root, "lib/modules", os.path.basename(kernel)[len("vmlinuz-"):])
            if os.path.isdir(modules):
                found.append((kernel, modules))
    numbers = lambda pair: [int(number) for number in re.findall(r"\d+", os.path.basename(pair[0]))]
    return max(found, key=numbers, default=None)


class Archive:
    """An initramfs: an archive in cpio's "newc" format."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.count = 0
        self.folders = set()

    def add(self, name, mode, data=b""):
        name = name.lstrip("/")
        parent = os.path.dirname(name)
        if parent and parent not in self.folders:
            self.folder(parent)
        self.count += 1
        fields = (self.count, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        self.padded(b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0")
        self.padded(data)

    def padded(self, data):
        self.file.write(data + b"\0" * (-len(data) % 4))

    def folder(self, name):
        self.folders.add(name)
        self.add(name, stat.S_IFDIR | 0o755)

    def copy(self, path, name=None):
        with open(path, "rb") as file:
            self.add(name or path, stat.S_IFREG | 0o755, file.read())

    def close(self):
        self.add("TRAILER!!!", 0)
        self.file.close()


def with_dependencies(modules, names):
    """Files of the modules, each after those that it needs, as their .modinfo says."""
    files = {}
    for folder, _, found in os.walk(modules):
        for name in found:
            if name.endswith(".ko"):
                files[name[:-3].replace("-", "_")] = os.path.join(folder, name)
    order = []

    def visit(name):
        if name not in files or files[name] in order:
            return
        with open(files[name], "rb") as file:
            needs = re.search(rb"\0depends=([^\0]*)\0", file.read())
        for needed in needs.group(1).decode().split(",") if needs else ():
            visit(needed.replace("-", "_"))
        order.append(files[name])

    for name in names:
        visit(name)
    return order


def libraries_of(programs):
    paths = set()
    for program in programs:
        text = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        paths.update(re.findall(r"(/\S+) \(0x", text))
    return sorted(paths)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Machine:
    """2 sockets of 2 cores with 2 threads each, a NUMA node of 1 GiB for each socket, and a disk /dev/vda."""

    def __init__(self, folder, kernel_roots, programs):
        self.folder = folder
        self.kernel, kernel_modules = kernel_of(kernel_roots)
        self.initramfs = os.path.join(folder, "initramfs")
        self.shell_port, self.api_port = free_port(), free_port()
        self.process = None
        archive = Archive(self.initramfs)
        archive.copy(shutil.which("busybox"), "bin/busybox")
        archive.add("init", stat.S_IFREG | 0o755, INIT.encode())
        archive.add("www/cgi-bin/sh", stat.S_IFREG | 0o755, SHELL.encode())
        archive.add("etc/passwd", stat.S_IFREG | 0o644, b"root:x:0:0:root:/root:/bin/sh\n")
        archive.add("etc/group", stat.S_IFREG | 0o644, b"root:x:0:\n")
        archive.add("etc/hosts", stat.S_IFREG | 0o644, b"127.0.0.1 localhost vm\n")
        order = with_dependencies(kernel_modules, DEVICES)
        for path in order:
            archive.copy(path, "modules/" + os.path.basename(path))
        archive.add("modules/order", stat.S_IFREG | 0o644, "\n".join(map(os.path.basename, order)).encode())
        for program in programs:
            archive.copy(program, "koord/" + os.path.basename(program))
        for library in libraries_of(programs):
            archive.copy(library)
        archive.close()

    def start(self):
        disk = os.path.join(self.folder, "disk")
        with open(disk, "wb") as file:
            file.truncate(64 << 20)
        forward = lambda port, to: f"hostfwd=tcp:127.0.0.1:{port}-:{to}"
        # Two NUMA nodes; CPUs are numbered socket by socket, threads of a core next to each other.
        memory = [argument for node in (0, 1) for argument in (
            "-object", f"memory-backend-ram,id=m{node},size=1024M",
            "-numa", f"node,nodeid={node},cpus={4 * node}-{4 * node + 3},memdev=m{node}")]
        self.process = subprocess.Popen(
            [QEMU, "-accel", "tcg,thread=multi", "-cpu", "max,vendor=GenuineIntel", "-m", "2048M",
             "-smp", "8,sockets=2,cores=2,threads=2", *memory,
             "-kernel", self.kernel, "-initrd", self.initramfs, "-no-reboot",
             "-append", "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on",
             "-display", "none", "-monitor", "none", "-serial", "file:" + os.path.join(self.folder, "console"),
             "-netdev", f"user,id=n,{forward(self.shell_port, 80)},{forward(self.api_port, 6443)}",
             "-device", "virtio-net-pci,netdev=n,romfile=",
             "-drive", f"file={disk},format=raw,if=none,id=d", "-device", "virtio-blk-pci,drive=d"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + 120
        while True:
            if self.process.poll() is not None:
                raise RuntimeError(f"{QEMU} ended: {self.process.stdout.read()}")
            try:
                if self.sh("echo ready", limit=5) == "ready":
                    return
            except OSError:
                if time.monotonic() > end:
                    raise RuntimeError("the machine does not start:\n" + self.console()) from None
                time.sleep(0.2)

    def console(self):
        with open(os.path.join(self.folder, "console"), encoding="utf-8", errors="replace") as file:
            return "".join(file.readlines()[-30:])

    def sh(self, script, limit=60, fails=False):
        """What the script prints. It failing is an error unless that may be."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.shell_port}/cgi-bin/sh", script.encode(),
                                         {"Content-Type": "text/plain"})
        with urllib.request.urlopen(request, timeout=limit) as reply:
            text, _, status = reply.read().decode(errors="replace").rpartition("\n")
        if status != "0" and not fails:
            raise OSError(f"{script}: status {status}: {text.strip()}")
        return text.strip()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None
