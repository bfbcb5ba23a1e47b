#!/usr/bin/env python3
"""The tutorial docs/features/spark.md on this machine: a driver and executors as real processes, beside a service.

An executor is killed in the middle; the job has the same result. Ends with 77 where this machine cannot run it.
"""

import os
import signal
import sys

import one_machine
from one_machine import Failure, check, container_cgroup, wait_until

NAMESPACE = "spark-demo"


class Spark(one_machine.Test):
    def steps(self):
        return (self.comes_up, self.shows_batch_resources, self.executors_use_batch_resources,
                self.a_lost_executor_is_made_up_for, self.the_job_ends)

    def comes_up(self):
        super().comes_up()
        for name in ("00-namespace", "10-profiles", "20-program"):
            self.cluster.kubectl("apply", "-f", os.path.join(self.source, "examples/spark", f"{name}.yaml"))

    def pods(self, role):
        return self.cluster.get("pods", "-n", NAMESPACE, "-l", f"spark-role={role}")["items"]

    def log(self):
        return self.cluster.kubectl("logs", "-n", NAMESPACE, "job/pi-driver")

    def executors_use_batch_resources(self):
        self.cluster.kubectl("apply", "-f", os.path.join(self.source, "examples/spark/30-job.yaml"))
        wait_until("executors run", lambda: one_machine.running(self.pods("executor"), 3), 60)
        for pod in self.pods("executor"):
            labels, spec = pod["metadata"]["labels"], pod["spec"]
            check(labels["koordinator.sh/qosClass"] == "BE", f"QoS: {labels}")
            check(spec["priorityClassName"] == "koord-batch", f"class: {spec['priorityClassName']}")
            requests = spec["containers"][0]["resources"]["requests"]
            check(requests.get("kubernetes.io/batch-cpu") == "100" and "cpu" not in requests, f"asks for {requests}")
            check("/besteffort/" in container_cgroup(pod)[0], f"cgroup {container_cgroup(pod)[0]}")
        driver, = self.pods("driver")
        check(driver["metadata"]["labels"]["koordinator.sh/qosClass"] == "LS", "the driver's QoS class")
        check("cpu" in driver["spec"]["containers"][0]["resources"]["requests"], "the driver has cpu of its own")

    def a_lost_executor_is_made_up_for(self):
        wait_until("all executors are with the driver", lambda: self.log().count(" is here") >= 3, 60)
        victim, *others = self.pods("executor")
        # However fast this machine is, the job must not be done before the Job's back-off is over.
        paused = [pid for pod in others for pid in self.cgroups.processes(container_cgroup(pod)[1])]
        for pid in paused:
            os.kill(pid, signal.SIGSTOP)
        for pid in self.cgroups.processes(container_cgroup(victim)[1]):
            os.kill(pid, signal.SIGKILL)
        name = victim["metadata"]["name"]
        wait_until("the driver misses it", lambda: f"executor {name} is lost" in self.log(), 60)
        wait_until("another executor comes", lambda: self.log().count(" is here") >= 4, 60)
        for pid in paused:
            os.kill(pid, signal.SIGCONT)

    def the_job_ends(self):
        def ended():
            status = self.cluster.get("job", "pi-driver", "-n", NAMESPACE)["status"]
            if status.get("failed"):
                raise Failure(f"the driver failed: {self.log()}")
            return status.get("succeeded") == 1

        try:
            wait_until("the driver is done", ended, 240, 0.5)
        except Failure as failure:
            # Executors are best effort: beside programs that take all CPUs they have as good as none.
            if "not within" not in str(failure) or self.stays_calm():
                raise
            print("     skipped: other programs use most of this machine's CPUs", flush=True)
            self.cluster.stop()
            return
        check("Pi is roughly 3.14" in self.log(), self.log())
        wait_until("the executors are done", lambda: self.cluster.get(
            "job", "pi-executors", "-n", NAMESPACE)["status"].get("succeeded") == 3, 60)
        self.cluster.stop()


if __name__ == "__main__":
    # Pods are processes of this machine: its own Python, not one of whoever runs the test.
    os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    sys.exit(one_machine.run_if_possible(Spark, __doc__, one_machine.why_not()))
