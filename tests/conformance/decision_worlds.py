"""Random worlds for single decisions (decisions.py), each of one kind: CPUs, NUMA, devices, quotas, gangs, preemption.

Their steps are those of the worlds that they are made of, without the ones of other kinds.
"""

import json

from full_worlds import FullWorld
from job_worlds import JobWorld
from machine_worlds import GPU, SCHEDULING, MachineWorld


class CpuWorld(MachineWorld):
    """Pods with CPUs of their own, and pods of the rest."""

    def step(self):
        return self.pick(*[self.bound] * 6, self.shared, self.shared, self.departure)()


class NumaWorld(MachineWorld):
    """Pods whose resources come of NUMA nodes, by a policy of the pod's or of the node's."""

    ZONES = (2, 4, 4)

    def zoned(self):
        policy = {"numaTopologyPolicy": self.pick("BestEffort", "BestEffort", "Restricted", "SingleNUMANode")}
        if self.chance(0.2):
            policy["singleNUMANodeExclusive"] = self.pick("Preferred", "Required")
        cpu = self.pick(500, 1000, 2500, 4000, 5000, 9000)
        amounts = {"cpu": f"{cpu}m", "memory": f"{self.pick(1, 3, 6, 20)}Gi"}
        annotations = {SCHEDULING + "numa-topology-spec": json.dumps(policy)} if self.chance(0.8) else {}
        return [self.machine_pod(amounts, {"koordinator.sh/qosClass": self.pick("LS", "LS", "LSR") if cpu % 1000 == 0 else "LS"}, annotations)]

    def step(self):
        return self.pick(*[self.zoned] * 6, self.bound, self.shared, self.departure)()


class DeviceWorld(MachineWorld):
    """Pods with GPUs, whole or in parts, and network cards; in two of three worlds nobody has several."""

    def step(self):
        return self.pick(*[self.gpus] * 7, self.bytes_of_memory, self.departure)()

    def gpus(self):
        made = super().gpus()
        for _, pod, _ in made if self.seed % 3 else []:
            resources = pod["spec"]["containers"][0]["resources"]["requests"]  # its limits are the same
            if "nvidia.com/gpu" in resources:
                resources["nvidia.com/gpu"] = "1"
        return made

    def bytes_of_memory(self):
        if not self.shares:
            return self.gpus()
        amount = self.pick("4Gi", "8Gi", "12Gi", f"{self.random.randint(1, 15999)}Mi")
        return [self.machine_pod({"cpu": "1", "memory": "2Gi", f"{GPU}-memory": amount})]


class QuotaWorld(JobWorld):
    """Pods of quotas, with priorities, so that some have to leave for others of their quota."""

    def build(self):
        self.prefix = f"quotas-{self.seed}"
        self.things[0]["metadata"]["name"] = self.prefix
        self.preempting = self.chance(0.6)
        self.things += [self.node() for _ in range(self.random.randint(1, 4))]
        self.make_quotas()
        self.steps = [self.step() for _ in range(self.random.randint(8, 14))]

    def quota_label(self):
        return super().quota_label() or super().quota_label()

    def step(self):
        return self.pick(*[self.plain] * 6, self.growth, self.departure)()


class GangWorld(JobWorld):
    def build(self):
        self.prefix = f"gangs-{self.seed}"
        self.things[0]["metadata"]["name"] = self.prefix
        super().build()

    def step(self):
        return self.pick(*[self.gang] * 6, self.plain, self.growth, self.departure)()


def full(index):
    """Nodes without room, of one of the kinds of full_worlds.py."""

    class OneKind(FullWorld):
        ARRIVALS = (5, 6, 7)

        def __init__(self, seed):
            super().__init__(5 * seed + index)

    return OneKind


KINDS = {"cpus": CpuWorld, "numa": NumaWorld, "devices": DeviceWorld, "quotas": QuotaWorld, "gangs": GangWorld,
         **{f"full-{name}": full(index) for index, name in enumerate(("plain", "gang", "quota", "reservation", "mixed"))}}
