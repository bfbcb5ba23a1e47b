#!/usr/bin/env python3
"""exec, cp and port-forward on the host node with every kubectl of this machine, over WebSocket and SPDY.

Every wait polls a condition and has a limit; exit status 77 means that this machine cannot run it.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from one_machine import Cluster
from terminal import Client, Terminal, kubectls
from waiting import SKIP, Failure, check, wait_until

NAME = "streams"
LIMIT = 60
PORT_PROGRAM = """
import os, socket
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(64)
open(os.environ["PORT_FILE"], "w").write(str(server.getsockname()[1]))
while True:
    connection, _ = server.accept()
    if os.fork() == 0:
        while True:
            data = connection.recv(1 << 16)
            if not data:
                break
            connection.sendall(data)
        connection.close()
        os._exit(0)
    connection.close()
"""


def exec_works(client, folder):
    done = client.run("exec", NAME, "--", "sh", "-c", "echo out; echo err >&2; exit 3", expected=3)
    check(done.stdout == b"out\n", f"standard output is {done.stdout!r}")
    check(done.stderr.startswith(b"err\n"), f"standard error is {done.stderr!r}")
    check(b"exit code 3" in done.stderr, f"the exit code is not named: {done.stderr!r}")
    data = os.urandom(3 << 20)
    done = client.run("exec", "-i", NAME, "--", "cat", stdin=data)
    check(done.stdout == data, f"cat returned {len(done.stdout)} bytes of {len(data)}")
    done = client.run("exec", NAME, "--", "cat", "/proc/self/cgroup")
    check(b"kubepods" in done.stdout, f"the command is in another cgroup: {done.stdout!r}")
    done = client.run("exec", NAME, "--", "sh", "-c", "echo $GREETING; pwd")
    check(done.stdout == b"hello\n/tmp\n", f"environment and folder are {done.stdout!r}")
    client.run("exec", NAME, "--", "/no/such/command", expected=127)
    done = client.run("exec", NAME, "-c", "nothing", "--", "true", expected=1)
    check(b"nothing" in done.stderr, f"an unknown container: {done.stderr!r}")
    done = client.run("exec", NAME, "--", "sh", "-c", "sleep 1000 & echo begun")
    check(done.stdout == b"begun\n", f"a command that leaves another behind: {done.stdout!r}")


def cp_works(client, folder):
    source, back = os.path.join(folder, "source"), os.path.join(folder, "back")
    data = os.urandom(5 << 20)
    with open(source, "wb") as file:
        file.write(data)
    place = os.path.join(folder, "in-the-pod")
    client.run("cp", source, f"{NAME}:{place}")
    client.run("cp", f"{NAME}:{place}", back)
    with open(back, "rb") as file:
        check(hashlib.sha256(file.read()).digest() == hashlib.sha256(data).digest(), "the copied file differs")
    os.unlink(place)


def terminal_works(client, folder):
    with Terminal(client, "exec", "-it", NAME, "--", "sh", "-c",
                  "tty; echo $TERM; until stty size | grep '41 133'; do sleep 0.1; done; read line; echo got $line; "
                  "exit 5") as terminal:
        terminal.expect("/dev/pts/")
        terminal.expect("xterm")
        terminal.expect("41 133")
        terminal.type("words\n")
        terminal.expect("got words")
        terminal.ends(5)


def ends_with_its_client(client, folder):
    mark = os.path.join(folder, "alive")
    process = client.start("exec", "-i", NAME, "--", "sh", "-c",
                           f"echo $$ > {mark}; echo begun; exec sleep 100000", stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE)
    check(process.stdout.readline() == b"begun\n", "the command did not begin")
    with open(mark, encoding="utf-8") as file:
        pid = file.read().strip()
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until("the command ends with its client", lambda: not os.path.exists(f"/proc/{pid}"), LIMIT)


def port_file(folder):
    return os.path.join(folder, "port")


def port_forward_works(client, folder):
    with open(port_file(folder), encoding="utf-8") as file:
        port = file.read()
    process = client.start("port-forward", f"pod/{NAME}", f":{port}", ":1", stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    try:
        ports = {}
        while len(ports) < 2:
            line = process.stdout.readline().decode()
            check(line != "", "port-forward ended")
            if match := re.match(r"Forwarding from 127\.0\.0\.1:(\d+) -> (\d+)", line):
                ports[match.group(2)] = int(match.group(1))
        data = os.urandom(1 << 20)
        for _ in range(5):
            connections = [socket.create_connection(("127.0.0.1", ports[port]), timeout=LIMIT) for _ in range(4)]
            for connection in connections:
                connection.sendall(data[:50_000])
            for connection in connections:
                back = b""
                while len(back) < 50_000:
                    piece = connection.recv(1 << 16)
                    check(piece != b"", f"a forwarded connection ended after {len(back)} bytes")
                    back += piece
                check(back == data[:50_000], "forwarded bytes differ")
                connection.shutdown(socket.SHUT_WR)
                check(connection.recv(1) == b"", "a forwarded connection did not end")
                connection.close()
        refused = socket.create_connection(("127.0.0.1", ports["1"]), timeout=LIMIT)
        check(refused.recv(1) == b"", "a port without a listener has bytes")
        refused.close()
        line = process.stderr.readline()
        while b"refused" not in line:
            check(line != b"", "port-forward does not say that the port refuses")
            line = process.stderr.readline()
    finally:
        process.kill()
        process.wait()


def permissions_are_checked(cluster):
    for verb in ("get", "create"):
        cluster.kubectl("create", "role", verb, f"--verb={verb}", "--resource=pods/exec")
        cluster.kubectl("create", "rolebinding", verb, f"--role={verb}", "--user=" + verb)
    cluster.kubectl("create", "clusterrole", "reads-pods", "--verb=get", "--resource=pods")
    for user in ("get", "create"):
        cluster.kubectl("create", "rolebinding", "reads-" + user, "--clusterrole=reads-pods", "--user=" + user)
    said = cluster.kubectl("exec", NAME, "--as=get", "--", "true", fails=True)
    check("cannot create resource" in said, f"a user who may only get pods/exec: {said}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    clients = kubectls()
    if os.geteuid() != 0 or not clients:
        print("skipped: needs root and kubectl")
        return SKIP
    folder = tempfile.mkdtemp(prefix="koord-streams-")
    cluster = Cluster(options.programs, folder, "--components", "koord-scheduler", "--host-node=on")
    try:
        cluster.start()
        node = os.uname().nodename.lower()
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME}, "spec": {
            "nodeName": node, "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "none", "command": ["python3", "-c", PORT_PROGRAM],
                            "workingDir": "/tmp", "env": [{"name": "GREETING", "value": "hello"},
                                                          {"name": "PORT_FILE", "value": port_file(folder)},
                                                          {"name": "PATH", "value": os.environ["PATH"]}]}]}}

        cluster.kubectl("apply", "-f", "-", stdin=json.dumps(pod))
        cluster.kubectl("wait", "--for=condition=Ready", f"pod/{NAME}", "--timeout=60s")
        wait_until("the port is known", lambda: os.path.exists(port_file(folder)), LIMIT)
        for version, path in sorted(clients.items()):
            for websocket in (True, False):
                client = Client(path, cluster.kubeconfig, websocket)
                for step in (exec_works, cp_works, terminal_works, ends_with_its_client, port_forward_works):
                    begun = time.monotonic()
                    step(client, folder)
                    print(f"kubectl {version} websocket={websocket}: {step.__name__} "
                          f"({time.monotonic() - begun:.1f} s)", flush=True)
        permissions_are_checked(cluster)
    except Failure as failure:
        print(f"FAILED: {failure}{cluster.log_tail()}")
        return 1
    finally:
        if cluster.process:
            cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
