"""Random worlds of machines: pods that get CPUs and GPUs of their own on a few nodes, reservations of these, and what happens
to them one after the other. Played by jobs.py like the worlds of jobs (job_worlds.py), whose rules they keep.

They stay away from where koord-scheduler is meant to differ (docs/differences.md): shares of GPUs on switches, bytes of
memory that are no whole hundredths, partitions, and CPUs spread evenly over NUMA nodes. Pods with several GPUs may part a world.
"""

import json

from job_worlds import JobWorld

NODE, SCHEDULING = "node.koordinator.sh/", "scheduling.koordinator.sh/"
GPU = "koordinator.sh/gpu"


class MachineWorld(JobWorld):
    """things and steps, as in JobWorld."""

    ZONES = (1, 2, 2)  # of NUMA, that a node may have

    def build(self):
        self.prefix = f"machines-{self.seed}"
        self.shares = self.chance(0.4)  # of GPUs: on machines that do not say where these are
        self.machines = 0
        self.things[0]["metadata"]["name"] = self.prefix
        for _ in range(self.random.randint(1, 3)):
            self.machine()
        self.steps = [self.step() for _ in range(self.random.randint(6, 10))]

    def machine(self):
        """A node with its topology and devices; the sizes differ, so that chance has no part in where pods go."""
        self.machines += 1
        numas, cores = self.pick(*self.ZONES), self.pick(4, 6, 8) + self.machines
        cpus = 2 * numas * cores
        gpus = self.pick(0, 4, 8)
        memory = cpus * 4 + self.random.randint(1, 9)
        ratio = 1.5 if self.chance(0.15) else 1
        amounts = {"cpu": str(int(cpus * ratio)), "memory": f"{memory}Gi", "pods": "110"}
        cards = gpus // 2 if not self.shares and self.chance(0.5) else 0
        if cards:
            amounts["koordinator.sh/rdma"] = str(100 * cards)
        if gpus:
            amounts |= {"nvidia.com/gpu": str(gpus), f"{GPU}": str(100 * gpus), f"{GPU}-core": str(100 * gpus), f"{GPU}.shared": str(100 * gpus),
                        f"{GPU}-memory": f"{16 * gpus}Gi", f"{GPU}-memory-ratio": str(100 * gpus)}
        labels = {"world": self.prefix}
        if self.chance(0.3):
            labels[NODE + "cpu-bind-policy"] = self.pick("FullPCPUsOnly", "SpreadByPCPUs")
        if self.chance(0.4):
            labels[NODE + "numa-topology-policy"] = self.pick("BestEffort", "Restricted", "SingleNUMANode")
        if self.chance(0.4):
            labels[NODE + "numa-allocate-strategy"] = self.pick("MostAllocated", "LeastAllocated")
        name = f"{self.prefix}-{self.name('n')}"
        made = [self.topology(name, numas, cores, memory)] + ([self.device(name, gpus, numas, cards)] if gpus else [])
        annotations = {NODE + "resource-amplification-ratio": json.dumps({"cpu": ratio})} if ratio > 1 else {}
        node = self.thing("Node", name, False, labels=labels, annotations=annotations, status={"capacity": amounts, "allocatable": amounts})
        self.nodes.append(node)
        self.things += [node] + made

    def topology(self, name, numas, cores, memory):
        details, zones = [], []
        for numa in range(numas):
            for core in range(cores):
                first = 2 * (numa * cores + core)
                details += [{"id": first + thread, "core": numa * cores + core, "socket": numa, "node": numa} for thread in (0, 1)]
            amounts = {"cpu": str(2 * cores), "memory": f"{memory // numas}Gi"}
            zones.append({"name": f"node-{numa}", "type": "Node", "resources": [
                {"name": key, "capacity": value, "allocatable": value, "available": value} for key, value in amounts.items()]})
        annotations = {NODE + "cpu-topology": json.dumps({"detail": details})}
        if self.chance(0.2):
            annotations["kubelet.koordinator.sh/cpu-manager-policy"] = json.dumps({"policy": "static", "reservedCPUs": "0-1"})
        if self.chance(0.15):
            annotations[NODE + "system-qos-resource"] = json.dumps({"cpuset": "2", "cpusetExclusive": self.pick(True, False)})
        if self.chance(0.15):
            annotations[NODE + "pod-cpu-allocs"] = json.dumps([{"name": "of-the-kubelet", "uid": "u", "cpuset": "4-5", "managedByKubelet": True}])
        if self.chance(0.15):
            annotations[NODE + "reservation"] = json.dumps({"reservedCPUs": "1,3"})
        return self.thing("NodeResourceTopology", name, False, annotations=annotations, topologyPolicies=["None"], zones=zones)

    def device(self, name, gpus, numas, cards):
        """GPUs, two to a switch, and network cards on the first switches."""
        devices = [{"type": "rdma", "minor": minor, "id": f"0000:1{minor}:00.0", "health": True, "resources": {"koordinator.sh/rdma": "100"},
                    "topology": {"socketID": 2 * minor * numas // gpus, "nodeID": 2 * minor * numas // gpus, "pcieID": str(minor), "busID": f"0000:1{minor}:00.0"}}
                   for minor in range(cards)]
        for minor in range(gpus):
            gpu = {"type": "gpu", "minor": minor, "id": f"GPU-{minor}", "health": True,
                   "resources": {f"{GPU}-core": "100", f"{GPU}-memory": "16Gi", f"{GPU}-memory-ratio": "100"}}
            if not self.shares:
                numa = minor * numas // gpus
                gpu["topology"] = {"socketID": numa, "nodeID": numa, "pcieID": str(minor // 2), "busID": f"0000:0{minor}:00.0"}
            devices.append(gpu)
        return self.thing("Device", name, False, spec={"devices": devices})

    def machine_pod(self, amounts, labels=None, annotations=None, name=None):
        pod = self.thing("Pod", name or self.name("p"), labels=labels or {}, annotations=annotations or {}, spec={
            "schedulerName": "koord-scheduler", "nodeSelector": {"world": self.prefix}, "priority": 9500,
            "priorityClassName": "sbs-9500", "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}]})
        self.pods.append(pod)
        return ("create", pod, None)

    def bound(self):
        """Pods that ask for CPUs of their own."""
        spec = {}
        if self.chance(0.4):
            spec["requiredCPUBindPolicy"] = self.pick("FullPCPUs", "SpreadByPCPUs")
        elif self.chance(0.6):
            spec["preferredCPUBindPolicy"] = self.pick("FullPCPUs", "SpreadByPCPUs")
        if self.chance(0.3):
            spec["preferredCPUExclusivePolicy"] = self.pick("PCPULevel", "NUMANodeLevel")
        annotations = {SCHEDULING + "resource-spec": json.dumps(spec)} if spec else {}
        if self.chance(0.25):
            numa = {"numaTopologyPolicy": self.pick("BestEffort", "Restricted", "SingleNUMANode")}
            if self.chance(0.3):
                numa["singleNUMANodeExclusive"] = self.pick("Preferred", "Required")
            annotations[SCHEDULING + "numa-topology-spec"] = json.dumps(numa)
        cpus = self.pick(1, 2, 2, 3, 4, 4, 6)
        amounts = {"cpu": str(cpus), "memory": f"{cpus}Gi"}
        return [self.machine_pod(amounts, {"koordinator.sh/qosClass": self.pick("LSR", "LSE")}, annotations)
                for _ in range(self.random.randint(1, 2))]

    def shared(self):
        """Pods of the rest of the CPUs."""
        cpu = self.pick(500, 1000, 1500, 2500, 4000)
        return [self.machine_pod({"cpu": f"{cpu}m", "memory": f"{cpu}Mi"}, {"koordinator.sh/qosClass": "LS"})
                for _ in range(self.random.randint(1, 2))]

    def gpus(self):
        amounts = {"cpu": self.pick("1", "2"), "memory": "2Gi"}
        if self.shares and self.chance(0.7):
            part = self.pick("20", "30", "50", "60")
            amounts |= self.pick({f"{GPU}": part}, {f"{GPU}-core": part, f"{GPU}-memory-ratio": part}, {f"{GPU}-memory-ratio": part},
                                 {f"{GPU}-memory": self.pick("4Gi", "8Gi")})
        else:
            amounts["nvidia.com/gpu"] = self.pick("1", "1", "2", "3", "4")
        labels = {"koordinator.sh/qosClass": "LSR"} if self.chance(0.3) else {}
        return [self.machine_pod(amounts, labels, self.near(amounts))]

    def near(self, amounts):
        """GPUs that have to hang together, or to be near a network card."""
        annotations = {}
        if self.shares or "nvidia.com/gpu" not in amounts:
            return annotations
        if self.chance(0.3):
            amounts["koordinator.sh/rdma"] = self.pick("1", "50", "100")
            joint = {"deviceTypes": ["gpu", "rdma"]} | self.pick({}, {"requiredScope": "SamePCIe"})
            annotations[SCHEDULING + "device-joint-allocate"] = json.dumps(joint)
        if self.chance(0.2):
            annotations[SCHEDULING + "device-allocate-hint"] = json.dumps({"gpu": {"requiredTopologyScope": self.pick("PCIe", "NUMANode", "Node")}})
        return annotations

    def machine_reservation(self):
        """Of CPUs, or of GPUs, and later a pod for it."""
        name = f"{self.prefix}-{self.name('r')}"
        amounts, labels = {"cpu": str(self.pick(2, 4)), "memory": "4Gi"}, {}
        if self.chance(0.4):
            amounts["nvidia.com/gpu"] = self.pick("1", "2")
        else:
            labels["koordinator.sh/qosClass"] = "LSR"
        template = {"metadata": {"labels": labels}, "spec": {
            "schedulerName": "koord-scheduler", "nodeSelector": {"world": self.prefix}, "priority": 9500,
            "containers": [{"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}]}}
        spec = {"template": template, "ttl": "1h", "allocateOnce": self.chance(0.5), "allocatePolicy": self.pick("Aligned", "Restricted"),
                "owners": [{"object": {"namespace": self.prefix}, "labelSelector": {"matchLabels": {"of": name}}}]}
        made = self.thing("Reservation", name, False, spec=spec)
        self.reservations.append((made, [amounts, labels]))
        return [("create", made, None)]

    def machine_owner(self):
        waiting = [entry for entry in self.reservations if entry[1]]
        if not waiting:
            return self.machine_reservation()
        made, left = self.pick(*waiting)
        amounts, labels = left
        left.clear()
        return [self.machine_pod(amounts, {"of": made["metadata"]["name"], **labels}, name=self.name("o"))]

    def departure(self):
        if not self.pods:
            return self.bound()
        gone = self.random.sample(self.pods, min(len(self.pods), 2))
        return [("delete", pod, None) for pod in gone]

    def step(self):
        kinds = [self.bound] * 4 + [self.shared, self.gpus, self.gpus, self.gpus, self.machine_reservation, self.machine_owner, self.machine_owner,
                                    self.departure, self.departure]
        return self.pick(*kinds)()
