#!/usr/bin/env python3
"""Starts every program with the arguments of upstream's manifests and chart, and with every flag that the
originals have, against an API server that is not there: what the arguments ask for must have been
understood by the time that the program tries to connect. And what cannot be understood must end it.

    program_flags.py --programs build/release/bin
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading

LIMIT = 30  # seconds; only so that a broken program does not hang the test

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: none, user: {token: none}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
"""

# Ports are 0 where the originals have numbers, so that tests do not meet.
SCHEDULER = {
    "manifest": "--port=0 --authentication-skip-lookup=true --v=4 --feature-gates= --config={config}",
    "configuration of deploy/": "--port=0 --config={shipped}",
    "chart": "--port=0 --authentication-skip-lookup=true --v=4 --feature-gates= --config={config} "
             "--enable-network-topology-manager=true",
    "chart, older clusters": "--leader-elect=true --port=0 --logtostderr=true "
                             "--authentication-skip-lookup=true "
                             "--leader-elect-resource-namespace=koordinator-system --v=4 --feature-gates="
                             "DisableCSIStorageCapacityInformer=true,CompatiblePodDisruptionBudget=true "
                             "--config={config}",
    "kubeadm": "--authentication-kubeconfig={kubeconfig} --authorization-kubeconfig={kubeconfig} "
               "--bind-address=127.0.0.1 --kubeconfig={kubeconfig} --leader-elect=true --port=0",
    "shorthands": "-v4 -fd -s 3 -s=4 --port 0 --leader-elect --leader-elect=F --config= "
                  "--unsupported-kube-api-over-localhost",
    "gates": "--port=0 --feature-gates=AllAlpha=true,kube:AllBeta=0 --feature-gates=ResizePod=T "
             "--feature-gates=",
    "every flag": """
      --address=127.0.0.1 --port=0 --bind-address=127.0.0.1 --secure-port=0 --cert-dir={dir}/pki
      --tls-cert-file= --tls-private-key-file= --tls-min-version=VersionTLS12 --tls-sni-cert-key=a,b
      --tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_AES_128_GCM_SHA256
      --tls-curve-preferences=X25519 --http2-max-streams-per-connection=0 --disable-http2-serving=false
      --permit-address-sharing --permit-port-sharing --client-ca-file= --requestheader-client-ca-file=
      --requestheader-allowed-names=front-proxy-client --requestheader-username-headers=X-Remote-User
      --requestheader-uid-headers=X-Remote-Uid --requestheader-group-headers=X-Remote-Group
      --requestheader-extra-headers-prefix=X-Remote-Extra- --authentication-kubeconfig=
      --authentication-skip-lookup --authentication-tolerate-lookup-failure
      --authentication-token-webhook-cache-ttl=10s --authorization-kubeconfig=
      --authorization-always-allow-paths=/healthz --authorization-always-allow-paths=/readyz,/livez
      --authorization-webhook-cache-authorized-ttl=10s --authorization-webhook-cache-unauthorized-ttl=10s
      --kubeconfig={kubeconfig} --master=https://127.0.0.1:1 --kube-api-qps=50 --kube-api-burst=100
      --kube-api-content-type=application/vnd.kubernetes.protobuf --profiling --contention-profiling=true
      --pod-max-in-unschedulable-pods-duration=5m --leader-elect --leader-elect-lease-duration=15s
      --leader-elect-renew-deadline=10s --leader-elect-retry-period=2s --leader-elect-resource-lock=leases
      --leader-elect-resource-name=s --leader-elect-resource-namespace=kube-system
      --emulated-version=kube=1.35 --min-compatibility-version=kube=1.35 --feature-gates=ResizePod=true
      --show-hidden-metrics-for-version=1.35 --disabled-metrics=a,b --allow-metric-labels=a,b=c
      --allow-metric-labels-manifest=/nowhere --logging-format=text --log-flush-frequency=5s --v=2
      --vmodule=a=1 --log-text-split-stream=false --log-text-info-buffer-size=0
      --log-json-split-stream=false --log-json-info-buffer-size=0 --debug-scores=0 --debug-filters=false
      --debug-diagnosis=false --debug-diagnosis-blocking --debug-diagnosis-queue-size=1000
      --debug-diagnosis-worker-count=10 --controller-plugins=* --enable-network-topology-manager
      --scheduler-monitor-period=10s --scheduling-timeout=30s --scheduling-drop-unhandled-timeout=5s
      --sync-barrier-pod-namespace=kube-system --sync-barrier-pod-name=b --sync-hard-timeout=1m
      --enable-workload-auditor --workload-auditor-metric-labels=a=b
      --workload-auditor-victim-reschedule-duration=10s --workload-auditor-victim-deletion-duration=30s
      --workload-auditor-victim-deleting-retries=3 --workload-auditor-scheduling-event-interval=5m
      --async-log --async-log-queue-length=10000 --version=false""",
}
MANAGER = {
    "manifest": "--enable-leader-election --metrics-addr=:0 --health-probe-addr=:0 --logtostderr=true "
                "--leader-election-namespace=koordinator-system --config-namespace=koordinator-system "
                "--v=4 --feature-gates= --sync-period=0",
    "chart": "--enable-leader-election --metrics-addr=:0 --health-probe-addr=:0 --logtostderr=true "
             "--leader-election-namespace=koordinator-system --v=4 --feature-gates= --sync-period=0 "
             "--config-namespace=koordinator-system --controllers=*",
    "one dash": "-metrics-addr=:0 -health-probe-addr :0 -v=4 -enable-leader-election false",
    "every flag": """
      --metrics-addr=:0 --health-probe-addr=:0 --enable-leader-election=T
      --leader-election-namespace=koordinator-system --leader-elect-resource-lock=leases --namespace=
      --enable-pprof=0 --pprof-addr=:0 --sync-period=10h --controllers=nodeslo --controllers=nodemetric
      --noderesource-plugins=*,-MidResource --config-namespace=a --slo-config-name=b
      --node-strategy-name-need-check=false --colocation-profile-reconcile-by-default
      --colocation-profile-reconcile-interval=30s --colocation-profile-force-update-pod-duration=5m
      --colocation-profile-expire-pod-cache-duration=10m --colocation-profile-update-pod-qps=10.5
      --colocation-profile-update-pod-qps-burst=100 --pod-enhanced-validator-config-namespace=a
      --pod-enhanced-validator-config-name=b --pod-enhanced-validator-reconcile-interval=5m
      --quota-update-max-retries=3 --quota-update-retry-jitter=0s --quota-update-max-total-jitter=1s
      --quota-update-conflict-fresh-get --binding-admission-user-name= --binding-admission-dry-run
      --binding-admission-namespaces= --binding-admission-exclude-namespaces=kube-system
      --binding-admission-bypass-labels=a --binding-admission-bypass-annotations=
      --feature-gates=MultiQuotaTree=true --rest-config-qps=30 --rest-config-burst=50
      --disable-no-deepcopy --logtostderr --alsologtostderr=false --stderrthreshold=INFO
      --legacy_stderr_threshold_behavior=false --log_dir={dir} --log_file= --log_file_max_size=1800
      --skip_headers=false --skip_log_headers --one_output --add_dir_header --log_backtrace_at= --vmodule=""",
}
KOORDLET = {
    "manifest": "-cgroup-root-dir={cgroups}/ -feature-gates=AllAlpha=true,AllBeta=true "
                "-runtime-hooks-network=unix -runtime-hooks-addr=/host-var-run-koordlet/koordlet.sock "
                "-runtime-hooks-host-endpoint=/var/run/koordlet//koordlet.sock --logtostderr=true --v=4 "
                "-addr=:0",
    "chart": "-addr=:0 -cgroup-root-dir={cgroups}/ -feature-gates=BECPUEvict=true,BEMemoryEvict=true,"
             "CgroupReconcile=true,Accelerators=true "
             "-runtime-hooks-host-endpoint=/var/run/koordlet/koordlet.sock --logtostderr=true --v=4",
    "every flag": """
      -addr=:0 -enable-pprof=false -pprof-addr=:0 -kube-api-qps=20.5 -kube-api-burst=30
      -configmap-name=a -configmap-namespace=b -feature-gates= -cgroup-root-dir={cgroups}
      -sys-root-dir=/sys/ -sys-fs-root-dir=/sys/fs/ -proc-root-dir=/proc/ -var-run-root-dir=/var/run/
      -run-root-dir=/run/ -var-lib-kubelet-dir=/var/lib/kubelet/ -containerd-endpoint= -docker-endpoint=
      -pouch-endpoint= -crio-endpoint= -default-runtime-type=containerd -hami-core-library-directory-path=/a
      -pod-resources-proxy-path=/a -xpu-device-infos-dir=/a -kubelet-preferred-address-type=InternalIP
      -kubelet-sync-interval=10s -kubelet-sync-timeout=3s -kubelet-insecure-tls -kubelet-read-only-port=1
      -disable-query-kubelet-config -node-topology-sync-interval=3s -enable-node-metric-report=true
      -report-interval=60s -enable-pod-taskids -xpu-enforce-collect-from-device-infos
      -collect-res-used-interval=1s -collect-sys-metric-outdated-interval=10s
      -collect-node-cpu-info-interval=60s -collect-node-storage-info-interval=1s -cpi-collector-interval=60s
      -collect-cpi-timewindow=10s -psi-collector-interval=10s -coldpage-collector-interval=5s
      -cpi-collector-interval-seconds=60 -collect-cpi-timewindow-seconds=10 -psi-collector-interval-seconds=10
      -enable-pagecache-collector -enable-resctrl-collector -resctrl-collector-interval=10s
      -metric-gc-interval-seconds=300 -metric-expire-seconds=1800 -tsdb-path=/a -tsdb-retention-duration=12h
      -tsdb-enable-prometheus-metric=true -tsdb-stripe-size=16384 -tsdb-max-bytes=104857600
      -tsdb-wal-segment-size=1048576 -tsdb-max-block-chunk-segment-size=5242880 -tsdb-min-block-duration=10m
      -tsdb-max-block-duration=10m -tsdb-head-chunks-write-buffer-size=1048576 -reconcile-interval-seconds=1
      -cpu-suppress-interval-seconds=1 -cpu-evict-interval-seconds=1 -cpu-evict-cool-time-seconds=20
      -memory-evict-interval-seconds=1 -memory-evict-cool-time-seconds=4 -only-evict-by-api
      -qos-extension-plugins=a=b -runtime-hooks-network=unix -runtime-hooks-addr=/a
      -runtime-hooks-host-endpoint=/a -runtime-hooks-failure-policy=Ignore
      -runtime-hooks-plugin-failure-policy=Ignore -runtime-hooks-config-path=/a
      -runtime-hooks-disable-stages=a,b -runtime-hooks-reconcile-interval=10s -disable-unset-cpu-quota
      -enable-nri-runtime-hook=true -runtime-hooks-nri-connect-timeout=6s
      -runtime-hooks-nri-backoff-duration=1s -runtime-hooks-nri-backoff-cap=1281023h53m38.427387904s
      -runtime-hooks-nri-backoff-steps=2147483647 -runtime-hooks-nri-backoff-factor=2
      -runtime-hooks-nri-socket-path=nri/nri.sock -runtime-hooks-nri-plugin-name=a
      -runtime-hooks-nri-plugin-index=00 -audit-log-dir=/a -audit-verbose=3 -audit-max-disk-space-mb=16
      -audit-max-concurrent-readers=4 -audit-max-events-limit=2048 -prediction-checkpoint-filepath=/a
      -prediction-cold-start-duration=24h -prediction-safety-margin-percent=10
      -prediction-memory-histogram-decay-halflife=24h -prediction-cpu-histogram-decay-halflife=12h
      -prediction-training-interval=1m -prediction-model-expiration-duration=30m
      -prediction-model-checkpoint-interval=10m -prediction-model-checkpoint-max-per-step=12
      -resource-force-update-seconds=60 -v 4 -logtostderr -alsologtostderr=0""",
}
# Arguments, exit status, and what standard error must say.
REFUSED = {
    "koord-scheduler": [
        ("--nope", 1, "unknown flag: --nope"),
        ("-x", 1, "unknown shorthand flag: 'x' in -x"),
        ("--leader-elect false", 1, '"koord-scheduler" does not take any arguments, got [false]'),
        ("--port=many", 1, 'invalid argument "many" for "--port" flag'),
        ("--scheduling-timeout=5", 1, "time: invalid duration"),
        ("--feature-gates=Nope=true", 1, "unrecognized feature gate: Nope"),
        ("--tls-min-version=1.2", 1, "unknown tls version"),
        ("--tls-cipher-suites=NULL", 1, "Cipher suite NULL not supported"),
        ("--config", 1, "flag needs an argument: --config"),
        ("--scheduler-monitor-period=0s", 1, "must be greater than 0"),
    ],
    "koord-manager": [
        ("--nope", 2, "unknown flag: --nope"),
        ("--quota-update-max-retries=x", 2, 'invalid argument "x"'),
        ("--enable-leader-election=maybe", 2, "strconv.ParseBool"),
    ],
    "koordlet": [
        ("-nope", 2, "flag provided but not defined: -nope"),
        ("-tsdb-max-bytes=1.5", 2, 'invalid argument "1.5"'),
        ("-feature-gates=CPUBurst", 2, "missing bool value for CPUBurst"),
        ("-cpi-collector-interval-seconds=1m", 2, 'invalid argument "1m"'),
    ],
    "koord-device-daemon": [
        ("--nope", 2, "flag provided but not defined: -nope"),
        ("--sleep-interval=5", 2, 'invalid argument "5"'),
        ("--sleep-interval=0s", 2, "sleep-interval: must be greater than 0"),
        ("--config-file={dir}/none", 2, "No such file"),
        ("once", 2, "unexpected argument"),
    ],
    "koordctl": [
        ("--nope", 2, "unknown flag: --nope"),
        ("up --nodes=x", 2, 'invalid argument "x" for "--nodes" flag'),
        ("nope", 2, 'unknown command "nope"'),
    ],
}


def shipped_configuration():
    """koord-scheduler's configuration out of the ConfigMap in deploy/."""
    file = pathlib.Path(__file__).parents[2] / "deploy" / "manifests" / "scheduler-config.yaml"
    _, text = file.read_text().split("  koord-scheduler-config: |\n")
    return textwrap.dedent(text)


class Tour:
    def __init__(self, programs: pathlib.Path, folder: pathlib.Path):
        self.programs = programs
        self.folder = folder
        self.problems = []
        self.names = {"dir": folder, "kubeconfig": folder / "kubeconfig", "config": folder / "config",
                      "cgroups": folder / "cgroups", "shipped": folder / "shipped"}
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(folder / "kubeconfig"),
                    "NODE_NAME": "n1", "POD_NAMESPACE": "koordinator-system", "WEBHOOK_PORT": "0",
                    "WEBHOOK_CERT_DIR": str(folder / "certs")}
        (folder / "kubeconfig").write_text(KUBECONFIG)
        (folder / "shipped").write_text(shipped_configuration())
        (folder / "cgroups").mkdir()
        (folder / "cgroups" / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")

    def run(self, program, arguments):
        command = [str(self.programs / program)] + arguments.format(**self.names).split()
        return subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=LIMIT)

    def expect(self, good, what, text):
        if not good:
            self.problems.append(f"FAILED {what}\n{text}")

    def starts(self, program, case, arguments):
        """The program is under way when it tries to connect."""
        command = [str(self.programs / program)] + arguments.format(**self.names).split()
        with subprocess.Popen(command, env=self.env, stderr=subprocess.PIPE, text=True) as child:
            watchdog = threading.Timer(LIMIT, child.kill)
            watchdog.start()
            said = []
            for line in child.stderr:
                said.append(line)
                if "connection refused" in line:
                    break
            child.send_signal(signal.SIGKILL)
            watchdog.cancel()
        self.expect(said and "connection refused" in said[-1], f"{program}, {case}", "".join(said))

    def refuses(self, program, arguments, status, text):
        done = self.run(program, arguments)
        good = done.returncode == status and text in done.stderr and not done.stdout
        self.expect(good, f"{program} {arguments}: status {done.returncode}", done.stdout + done.stderr)

    def writes_device_infos(self):
        """koord-device-daemon, whose file goes with it unless it was asked for once; as many signals as it likes."""
        infos = self.folder / "infos" / "ic-device"
        arguments = "--v=4 --no-timestamp --host-root-dir={dir}/none --prints-output-file={dir}/infos/ic-device"
        done = self.run("koord-device-daemon", arguments + " --oneshot")
        self.expect(done.returncode == 0 and json.loads(infos.read_text()) == [], "--oneshot", done.stderr)
        done = self.run("koord-device-daemon", "-oneshot -prints-output-file=")
        self.expect(done.returncode == 0 and json.loads(done.stdout) == [], "to standard output", done.stderr)
        config = self.folder / "kdd"
        config.write_text("version: v1\nflags: {kdd: {printsOutputFile: %s}}\n" % infos)
        env = self.env | {"KDD_SLEEP_INTERVAL": "1h"}
        command = [str(self.programs / "koord-device-daemon"), f"--config-file={config}"]
        with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as child:
            watchdog = threading.Timer(LIMIT, child.kill)
            watchdog.start()
            said = child.stderr.readline()
            self.expect("every 3600 s" in said, "settings of file and environment", said)
            child.send_signal(signal.SIGHUP)
            for line in child.stderr:
                said += line
                if "at SIGHUP" in line:
                    child.send_signal(signal.SIGTERM)
            child.wait()
            watchdog.cancel()
        self.expect(child.returncode == 0 and not infos.exists(), "SIGTERM takes the file away", said)

    def explains(self, program):
        for arguments in ("--help", "-h"):
            done = self.run(program, arguments)
            self.expect(done.returncode == 0 and "Usage:" in done.stdout and not done.stderr,
                        f"{program} {arguments}: status {done.returncode}", done.stdout + done.stderr)

    def tells_version(self, program):
        for arguments, text in (("--version", program + " v"), ("--version=raw", "GitVersion:")):
            done = self.run(program, arguments)
            self.expect(done.returncode == 0 and text in done.stdout, f"{program} {arguments}",
                        done.stdout + done.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tour = Tour(options.programs, pathlib.Path(folder))
        written = tour.run("koord-scheduler", "--write-config-to={config}")
        tour.expect(written.returncode == 0, "--write-config-to", written.stderr)
        work = []
        for program, cases in (("koord-scheduler", SCHEDULER), ("koord-manager", MANAGER),
                               ("koordlet", KOORDLET)):
            quiet = " --secure-port=0" if program == "koord-scheduler" else ""
            for case, arguments in cases.items():
                work.append(threading.Thread(target=tour.starts,
                                             args=(program, case, arguments + quiet)))
            work.append(threading.Thread(target=tour.tells_version, args=(program,)))
        work.append(threading.Thread(target=tour.writes_device_infos))
        for program, cases in REFUSED.items():
            work.append(threading.Thread(target=tour.explains, args=(program,)))
            for case in cases:
                work.append(threading.Thread(target=tour.refuses, args=(program, *case)))
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
    print("\n".join(tour.problems) or f"{len(work)} cases passed")
    return 1 if tour.problems else 0


if __name__ == "__main__":
    sys.exit(main())
