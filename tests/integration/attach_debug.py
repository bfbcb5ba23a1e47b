#!/usr/bin/env python3
"""kubectl attach, run -it and debug on the host node with each runtime, and what simulated nodes answer.

Every wait polls a condition and has a limit; exit status 77 means that this machine cannot run it.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from one_machine import Cluster
from terminal import Client, Terminal
from waiting import SKIP, Failure, check, wait_until

LIMIT = 60


def host_node():
    return os.uname().nodename.lower()


def pod(name, command, node=None, **container):
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "nodeName": node or host_node(), "terminationGracePeriodSeconds": 1, "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "busybox", "command": command, **container}]}})


def overrides():
    return "--overrides=" + json.dumps({"spec": {"nodeName": host_node(), "terminationGracePeriodSeconds": 1}})


def apply(cluster, text, condition="Ready"):
    cluster.kubectl("apply", "-f", "-", stdin=text)
    name = json.loads(text)["metadata"]["name"]
    cluster.kubectl("wait", f"--for=condition={condition}", f"pod/{name}", "--timeout=60s")


def attach_shows_output_and_sends_input(cluster, client, folder):
    apply(cluster, pod("cat", ["sh", "-c", "while read line; do echo got $line; echo err $line >&2; done; echo over; "
                                           "exit 3"], stdin=True, stdinOnce=True))
    process = client.start("attach", "-i", "cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(b"first\nsecond\n")
    process.stdin.flush()
    for word in (b"got first\n", b"got second\n"):
        check(process.stdout.readline() == word, "attach does not show the output")
    process.stdin.close()  # the container's input ends with it
    check(process.stdout.readline() == b"over\n", "the end of the input does not arrive")
    errors = process.stderr.read()
    check(b"err first\nerr second\n" in errors, f"standard error of attach: {errors!r}")
    check(process.wait(timeout=LIMIT) == 0, "attach failed")
    process.stdout.close()
    process.stderr.close()
    wait_until("the exit code is in the status", lambda: cluster.get("pod", "cat")["status"]["containerStatuses"][0]
               ["state"]["terminated"]["exitCode"] == 3, LIMIT)
    log = client.run("logs", "cat").stdout
    check(b"got first\n" in log and b"err second\n" in log, f"the log lacks what attach has shown: {log!r}")
    cluster.kubectl("delete", "pod", "cat", "--now")


def attach_to_output_only(cluster, client, folder):
    apply(cluster, pod("ticks", ["sh", "-c", "i=0; while true; do echo tick $i; i=$((i+1)); sleep 0.05; done"]))
    first = client.start("attach", "ticks", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    second = client.start("attach", "ticks", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for process in (first, second):
        for _ in range(3):
            check(process.stdout.readline().startswith(b"tick "), "attach does not show the output")
    first.kill()
    first.wait()
    for _ in range(3):
        check(second.stdout.readline().startswith(b"tick "), "another client's end ends this one")
    cluster.kubectl("delete", "pod", "ticks", "--now")
    check(second.wait(timeout=LIMIT) == 0, "attach does not end with the container")
    second.stdout.close()
    first.stdout.close()


def a_client_that_does_not_read_loses_nothing(cluster, client, folder):
    """More than all buffers between the two hold."""
    lines = 2_000_000
    apply(cluster, pod("flood", ["sh", "-c", f"read go; seq {lines}; read end"], stdin=True))
    process = client.start("attach", "-i", "flood", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)
    process.stdin.write(b"go\n")
    process.stdin.flush()
    check(process.stdout.readline() == b"1\n", "attach does not show the output")
    status = lambda: cluster.get("pod", "flood")["status"]["phase"]
    check(status() == "Running", "the output of a client that does not read went elsewhere")
    expected = b"".join(b"%d\n" % number for number in range(2, lines + 1))
    got = process.stdout.read(len(expected))
    process.stdin.write(b"end\n")
    process.stdin.close()
    check(got == expected, f"attach has {len(got)} bytes of {len(expected)}")
    process.wait(timeout=LIMIT)
    process.stdout.close()
    cluster.kubectl("delete", "pod", "flood", "--now")


def run_it_is_a_shell(cluster, client, folder):
    with Terminal(client, "run", "-it", "--rm", "shell", "--image=busybox", "--restart=Never", overrides(), "--",
                  "sh") as terminal:
        terminal.expect("press")  # "If you don't see a command prompt, try pressing enter."
        terminal.type("echo $((6 * 7)); tty; cat /proc/self/cgroup\n")
        terminal.expect("42")
        terminal.expect("/dev/pts/")
        terminal.expect("kubepods")
        terminal.type("sh -c 'echo begun; exec sleep 1000'\n")  # it says so when the terminal is its own
        terminal.expect("begun\r")
        terminal.type("\x03")  # the terminal interrupts the command, not the shell
        terminal.resize(20, 70)
        terminal.type("until stty size | grep '20 70'; do sleep 0.1; done\n")
        terminal.expect("20 70\r")
        terminal.type("exit 4\n")
        terminal.ends(4)
    check("NotFound" in cluster.kubectl("get", "pod", "shell", fails=True), "--rm left the pod")
    done = client.run("run", "-i", "--rm", "once", "--image=busybox", "--restart=Never", overrides(), "--", "sh",
                      "-c", "cat; exit 2", stdin=b"words\n", expected=2)
    check(b"words\n" in done.stdout, f"run -i: {done.stdout!r}")


def debug_adds_a_container(cluster, client, folder):
    apply(cluster, pod("web", ["sleep", "100000"]))
    with Terminal(client, "debug", "-it", "web", "--image=busybox", "-c", "first", "--target=main",
                  "--profile=general") as terminal:
        terminal.expect("press")
        terminal.type("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -o 'sleep 10000[0]' | head -1; exit 6\n")
        terminal.expect("sleep 100000")
        terminal.ends()  # kubectl debug does not report the exit code
    statuses = lambda: {status["name"]: status["state"] for status in
                        cluster.get("pod", "web")["status"].get("ephemeralContainerStatuses", [])}
    wait_until("the container's end is in the status", lambda: statuses()["first"]["terminated"]["exitCode"] == 6, LIMIT)
    client.run("debug", "web", "--image=busybox", "-c", "second", "--profile=general", "--", "sh", "-c",
               "echo seen; sleep 100000")
    wait_until("the second one runs", lambda: "running" in statuses()["second"], LIMIT)
    wait_until("its log", lambda: client.run("logs", "web", "-c", "second").stdout == b"seen\n", LIMIT)
    done = client.run("exec", "web", "-c", "second", "--", "echo", "inside")
    check(done.stdout == b"inside\n", f"exec in an ephemeral container: {done.stdout!r}")
    check("terminated" in statuses()["first"], "an ephemeral container ran twice")
    said = cluster.kubectl("patch", "pod", "web", "--subresource=ephemeralcontainers", "--type=json", "-p",
                           json.dumps([{"op": "remove", "path": "/spec/ephemeralContainers/0"}]), fails=True)
    check("may not be removed" in said, f"an ephemeral container can be removed: {said}")
    begun = time.monotonic()
    cluster.kubectl("delete", "pod", "web")
    check(time.monotonic() - begun < LIMIT / 2, "the pod's end waits for its ephemeral container")


def debug_of_the_node(cluster, client, folder):
    with Terminal(client, "debug", "-it", f"node/{host_node()}", "--image=busybox", "--profile=sysadmin") as terminal:
        terminal.expect("press")
        terminal.type("ls /host/etc/hostname; exit\n")
        terminal.expect("/host/etc/hostname")
        terminal.ends()


def simulated_nodes_say_what_they_know(cluster, client, folder):
    batch = json.loads(pod("batch", ["sleep", "1"], node="sim-0"))
    batch["metadata"]["labels"] = {"koordinator.sh/qosClass": "BE", "koordinator.sh/priority-class": "koord-batch"}
    batch["metadata"]["annotations"] = {"kwok.x-k8s.io/usage-cpu": "300m"}
    batch["spec"]["priorityClassName"] = "koord-batch"
    amounts = {"kubernetes.io/batch-cpu": "1500", "kubernetes.io/batch-memory": "512Mi"}
    batch["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    apply(cluster, json.dumps(batch))
    log = client.run("logs", "batch").stdout.decode()
    for words in ("node sim-0 runs no processes", "running since", "cpu 1500m, memory 512Mi", "cpu 300m",
                  "cpu.shares 1536", "cpu.cfs_quota_us 150000", "memory.limit_in_bytes 536870912", "QoS class BE"):
        check(words in log, f"the log of a simulated container lacks {words!r}: {log}")
    done = client.run("exec", "batch", "--", "ls", expected=126)
    check(done.stdout.decode() == log, f"exec says another thing than logs: {done.stdout!r}")
    client.run("attach", "batch")
    said = client.run("port-forward", "pod/batch", ":80", expected=1).stderr.decode()
    check("nothing listens on its ports" in said, f"port-forward to a simulated pod: {said}")


def admission_sees_the_connection(cluster, client, folder):
    """A policy on CONNECT, as on any cluster."""
    apply(cluster, pod("locked", ["sleep", "100000"]))
    policy = [
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
         "metadata": {"name": "no-shells"}, "spec": {
             "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                                                     "operations": ["CONNECT"], "resources": ["pods/exec"]}]},
             "validations": [{"expression": "!('sh' in object.command)", "message": "no shells here"}]}},
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
         "metadata": {"name": "no-shells"}, "spec": {"policyName": "no-shells", "validationActions": ["Deny"]}}]
    for document in policy:
        cluster.kubectl("apply", "-f", "-", stdin=json.dumps(document))
    said = wait_until("the policy counts", lambda: client.run("exec", "locked", "--", "sh", "-c", "true", expected=1),
                      LIMIT).stderr.decode()
    check("no shells here" in said, f"what the policy says is not shown: {said}")
    client.run("exec", "locked", "--", "true")
    cluster.kubectl("delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "no-shells")


def through_a_proxy(cluster, client, folder):
    process = client.start("proxy", "--port=0", "--reject-paths=^$", stdout=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().split()[-1]
        with urllib.request.urlopen(f"http://{address}/api/v1/namespaces/default/pods", timeout=LIMIT) as answer:
            check(json.load(answer)["kind"] == "PodList", "kubectl proxy does not lead to the API")
        through = subprocess.run([client.base[0], "--server", f"http://{address}", "exec", "locked", "--", "echo", "far"],
                                 env=dict(client.environment, KUBECONFIG="/dev/null"), capture_output=True, timeout=LIMIT,
                                 check=False)
        check(through.stdout == b"far\n", f"exec through kubectl proxy: {through}")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def exec_cp_and_port_forward(cluster, client, folder):
    """By the runtime's own streams; streams.py has every kubectl and protocol."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    apply(cluster, pod("tools", ["sh", "-c", f"while true; do echo served | busybox nc -l -p {port}; done"]))
    done = client.run("exec", "tools", "--", "sh", "-c", "echo out; echo err >&2; exit 7", expected=7)
    check(done.stdout == b"out\n" and done.stderr.startswith(b"err\n"), f"exec: {done}")
    data = os.urandom(3 << 20)
    check(client.run("exec", "-i", "tools", "--", "cat", stdin=data).stdout == data, "exec -i cat changes the bytes")
    check(client.run("exec", "tools", "--", "/no/such/command", expected=None).returncode != 0, "a missing command")
    source, back = os.path.join(folder, "source"), os.path.join(folder, "back")
    with open(source, "wb") as file:
        file.write(data)
    place = os.path.join(folder, "copied")
    client.run("exec", "tools", "--", "mkdir", "-p", folder)
    client.run("cp", source, f"tools:{place}")
    client.run("cp", f"tools:{place}", back)
    with open(back, "rb") as file:
        check(file.read() == data, "the copied file differs")
    process = client.start("port-forward", "pod/tools", f":{port}", stdout=subprocess.PIPE)
    try:
        local = int(process.stdout.readline().split()[2].split(b":")[1])
        with socket.create_connection(("127.0.0.1", local), timeout=LIMIT) as connection:
            check(connection.recv(100) == b"served\n", "port-forward leads elsewhere")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    cluster.kubectl("delete", "pod", "tools", "--now")


STEPS = (exec_cp_and_port_forward, attach_shows_output_and_sends_input, attach_to_output_only, a_client_that_does_not_read_loses_nothing,
         run_it_is_a_shell, debug_adds_a_container, debug_of_the_node, simulated_nodes_say_what_they_know,
         admission_sees_the_connection, through_a_proxy)


def run_on(runtime, options):
    folder = tempfile.mkdtemp(prefix="koord-attach-")
    cluster = Cluster(options.programs, folder, "--components", "koord-scheduler", "--host-node=on", "--nodes=1",
                      f"--runtime={runtime}")
    try:
        cluster.start()
        client = Client(shutil.which("kubectl"), cluster.kubeconfig)
        for step in STEPS:
            begun = time.monotonic()
            step(cluster, client, folder)
            print(f"{runtime}: {step.__name__} ({time.monotonic() - begun:.1f} s)", flush=True)
    except Failure as failure:
        print(f"FAILED: {failure}{cluster.log_tail()}")
        return 1
    finally:
        if cluster.process:
            cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("kubectl"):
        print("skipped: needs root and kubectl")
        return SKIP
    runtimes = ["process"]
    if shutil.which("containerd") and shutil.which("runc") and shutil.which("busybox"):
        runtimes.append("containerd")
    return max(run_on(runtime, options) for runtime in runtimes)


if __name__ == "__main__":
    sys.exit(main())
