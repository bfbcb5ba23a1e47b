"""Random worlds of devices: ResourceSlices of two drivers, DeviceClasses, ResourceClaims, and pods that use them. Played by
side_by_side.py like the others (worlds.py), which compares the allocated devices, too.

Pools are of several kinds: plain, in several slices, partitionable, with shares of capacity, incomplete, obsolete, reachable from
several nodes. Devices have taints, binding conditions, and attributes of all types.

Left out is what koord-scheduler does otherwise on purpose (docs/differences.md): partitions that a taint or a constraint rejects,
distinct attributes within a request, classes that share the name of an extended resource, and pods with claims that request a
resource of device plugins which a class backs, too.
"""

import copy

from worlds import World, thing

GPU, NIC = "gpu.example.com", "nic.example.com"
BACKED = "example.com/gpu"  # also counted by device plugins of some nodes
EXPRESSIONS = [
    f'device.driver == "{GPU}"',
    f'device.driver.startsWith("gpu")',
    f'device.attributes["{GPU}"].model == "A"',
    f'device.attributes["{GPU}"].model in ["B", "C"]',
    f'has(device.attributes["{GPU}"].index) && device.attributes["{GPU}"].index > 0',
    f'device.attributes["{GPU}"].?healthy.orValue(false)',
    f'device.capacity["{GPU}"].memory.compareTo(quantity("20Gi")) >= 0',
    f'cel.bind(d, device.attributes["{GPU}"], d.model == "A" || d.index == 0)',
    f'device.attributes["{GPU}"].?version.orValue(semver("0.1.0")).isGreaterThan(semver("1.2.0"))',
    f'"{NIC}" in device.attributes && device.attributes["{NIC}"].speed >= 100',
    'device.allowMultipleAllocations == true',
    f'device.attributes["{GPU}"].model.matches("^[AB]$")',
]
FAILING = [f'device.attributes["{GPU}"].unknown == 1', 'device.attributes["none"].x > 0', f'device.attributes["{GPU}"].model > 3']


class SliceWorld(World):
    NUMBER = (4, 7)
    RICH = 0.12

    def __init__(self, seed, rich=()):
        self.slices, self.device_classes, self.resource_claims, self.templates = [], [], [], []
        self.partitioned = False  # some pool is partitionable
        super().__init__(seed, rich)

    # --- Nodes and their slices.

    def make_nodes(self):
        for i in range(self.pick(1, 2, 2, 3, 3, 4, 5)):
            node = self.node(f"{self.prefix}-n{i}")
            if self.chance(0.3):
                for amounts in (node["status"]["capacity"], node["status"]["allocatable"]):
                    amounts[BACKED] = self.pick("0", "1", "2")
            self.nodes.append(node)
            self.things.append(node)
        for node in self.nodes:
            name = node["metadata"]["name"]
            if self.chance(0.85):
                self.make_pool(GPU, name, {"nodeName": name})
            if self.chance(0.4):
                self.make_pool(NIC, name, {"nodeName": name})
        if self.chance(0.3):
            self.make_pool(self.pick(GPU, NIC), f"{self.prefix}-rack", self.pick({"allNodes": True}, {"nodeSelector": self.zone()}))
        if self.chance(0.15):
            self.make_spread_pool()
        self.things += self.slices
        self.make_classes()
        self.make_claims()

    def node(self, name):
        made = super().node(name)
        made["metadata"]["labels"].pop("size", None)  # some of its values are refused
        return made

    def zone(self):
        return {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": self.some(["z1", "z2", "z3"], 2) or ["z1"]}]}]}

    def slice(self, driver, pool, part, where, parts, generation=1, **fields):
        name = f"{pool}-{driver.partition('.')[0]}-{part}" + (f"-g{generation}" if generation > 1 else "")
        made = thing("ResourceSlice", name, spec={
            "driver": driver, "pool": {"name": pool, "generation": generation, "resourceSliceCount": parts}, **where, **fields})
        self.slices.append(made)
        return made

    def make_pool(self, driver, pool, where):
        kind = self.random.random()
        if driver == GPU and kind < 0.2:
            return self.make_partitions(pool, where)
        if kind < 0.35:
            return self.slice(driver, pool, 0, where, 1, devices=[self.shared_device(driver, i) for i in range(self.pick(1, 2))])
        parts = self.pick(1, 1, 1, 2)
        number = self.random.randint(max(parts, 2), 6)
        devices = [self.device(driver, i) for i in range(number)]
        missing = parts == 1 and self.chance(0.06)
        for part in range(parts):
            self.slice(driver, pool, part, where, parts + missing, devices=devices[part::parts])
        if self.chance(0.08):
            self.slice(driver, pool, 0, where, 1, 2, devices=[self.device(driver, i) for i in range(self.pick(1, 2))])

    def make_partitions(self, pool, where):
        counters = {"slots": {"value": self.pick("2", "4")}, "memory": {"value": self.pick("20Gi", "40Gi")}}
        self.slice(GPU, pool, 0, where, 2, sharedCounters=[{"name": "card", "counters": counters}])
        devices = []
        self.partitioned = True
        for i, (slots, memory) in enumerate(self.some([(1, "10Gi"), (1, "10Gi"), (2, "20Gi"), (2, "10Gi"), (4, "40Gi")], 5)):
            uses = {"slots": {"value": str(slots)}, "memory": {"value": memory}}
            device = {**self.device(GPU, i), "consumesCounters": [{"counterSet": "card", "counters": uses}]}
            device.pop("taints", None)
            devices.append(device)
        self.slice(GPU, pool, 1, where, 2, devices=devices)

    def make_spread_pool(self):
        """A pool whose devices name their nodes."""
        devices = []
        for i in range(self.pick(1, 2, 3)):
            where = self.pick({"nodeName": self.pick(*self.nodes)["metadata"]["name"]}, {"allNodes": True}, {"nodeSelector": self.zone()})
            devices.append({**self.device(NIC, i), **where})
        self.slice(NIC, f"{self.prefix}-spread", 0, {"perDeviceNodeSelection": True}, 1, devices=devices)

    def device(self, driver, index):
        if driver == GPU:
            attributes = {"model": {"string": self.pick("A", "A", "B", "C")}, "index": {"int": index}}
            if self.chance(0.5):
                attributes["healthy"] = {"bool": self.chance(0.6)}
            if self.chance(0.95):
                attributes["version"] = {"version": self.pick("1.1.0", "1.2.0", "1.10.3", "2.0.0-rc.1")}
            capacity = {"memory": {"value": self.pick("10Gi", "20Gi", "40Gi")}}
        else:
            attributes = {"speed": {"int": self.pick(10, 100, 400)}}
            capacity = {}
        if self.chance(0.7):
            attributes["resource.kubernetes.io/pcieRoot"] = {"string": f"pci0000:0{self.pick(0, 0, 1)}"}
        if self.chance(0.5):
            attributes["example.com/numa"] = {"int": self.pick(0, 1)}
        device = {"name": f"{driver.partition('.')[0]}-{index}", "attributes": attributes, "capacity": capacity}
        if self.chance(0.12):
            device["taints"] = [{"key": self.pick("ill", "old"), "value": self.pick("a", "b"), "effect": self.pick("NoSchedule", "NoExecute", "None")}]
        if self.chance(0.05):
            device.update(bindingConditions=["example.com/ready"], bindingFailureConditions=["example.com/broken"],
                          bindsToNode=self.chance(0.5))
        return device

    def shared_device(self, driver, index):
        device = self.device(driver, index)
        device.pop("bindingConditions", None), device.pop("bindingFailureConditions", None), device.pop("bindsToNode", None)
        device["allowMultipleAllocations"] = self.chance(0.9)
        policy = self.pick({}, {"default": "1Gi", "validRange": {"min": "1Gi", "step": "2Gi", "max": "9Gi"}}, {"default": "2Gi", "validRange": {"min": "1Gi"}},
                           {"default": "4Gi", "validValues": ["2Gi", "4Gi", "8Gi"]})
        device["capacity"]["bandwidth"] = {"value": self.pick("8Gi", "10Gi", "12Gi"), **({"requestPolicy": policy} if policy and device["allowMultipleAllocations"] else {})}
        return device

    # --- Classes and claims.

    def make_classes(self):
        backing = self.pick("gpu", "gpu", "best", "none")
        for name, expression in (("gpu", EXPRESSIONS[0]), ("nic", f'device.driver == "{NIC}"'), ("any", None), ("best", f'device.driver == "{GPU}" && {EXPRESSIONS[2]}')):
            if name != "gpu" and self.chance(0.25):
                continue
            spec = {"selectors": [{"cel": {"expression": expression}}]} if expression else {}
            if name == backing:
                spec["extendedResourceName"] = BACKED
            self.device_classes.append(self.add("DeviceClass", f"{self.prefix}-{name}", spec=spec))

    def class_name(self):
        if self.chance(0.03):
            return f"{self.prefix}-missing"
        return self.pick(self.device_classes[0], *self.device_classes)["metadata"]["name"]

    def selectors(self):
        expressions = [self.pick(*FAILING) if self.chance(0.03) else self.expression() for _ in range(self.pick(0, 0, 0, 0, 1, 2))]
        return {"selectors": [{"cel": {"expression": each}} for each in expressions]} if expressions else {}

    def expression(self):
        """Mostly without errors for devices of the other driver."""
        chosen = self.pick(*EXPRESSIONS)
        return chosen if self.chance(0.1) or "attributes" not in chosen and "capacity" not in chosen else f'device.driver == "{GPU}" && {chosen}'

    def wish(self):
        """Fields of an exact request, or of an alternative."""
        wish = {"deviceClassName": self.class_name(), **self.selectors()}
        if self.chance(0.1):
            wish["allocationMode"] = "All"
        else:
            wish.update(allocationMode="ExactCount", count=self.pick(1, 1, 1, 1, 2, 3))
        if self.chance(0.15):
            wish["tolerations"] = [self.pick({"operator": "Exists"}, {"key": "ill", "operator": "Exists"}, {"key": "ill", "operator": "Equal", "value": "a"},
                                             {"key": "old", "operator": "Exists", "effect": "NoSchedule"})]
        if self.chance(0.12):
            wish["capacity"] = {"requests": {"bandwidth": self.pick("1Gi", "2Gi", "3Gi", "9Gi", "20Gi")}}
        return wish

    def request(self, name, admin):
        if self.chance(0.2):
            return {"name": name, "firstAvailable": [{"name": f"option-{i}", **self.wish()} for i in range(self.pick(1, 2, 2, 3))]}
        return {"name": name, "exactly": {**self.wish(), **({"adminAccess": True} if admin else {})}}

    def claim_spec(self, namespace):
        admin = namespace == "sbs-c" and self.chance(0.25)
        requests = [self.request(f"r{i}", admin) for i in range(self.pick(1, 1, 1, 1, 2, 3))]
        devices = {"requests": requests}
        if not self.partitioned and self.chance(0.3):
            names = [each["name"] for each in requests]
            kinds = ["matchAttribute", "distinctAttribute"] if all(each.get("exactly", {}).get("count") == 1 for each in requests) else ["matchAttribute"]
            attribute = self.pick("resource.kubernetes.io/pcieRoot", "example.com/numa", f"{GPU}/model", f"{GPU}/index")
            constraint = {self.pick(*kinds): attribute}
            if self.chance(0.4):
                constraint["requests"] = self.some(names, 2) or names[:1]
            devices["constraints"] = [constraint]
        return {"devices": devices}

    def make_claims(self):
        for i in range(self.random.randint(1, 4)):
            namespace = self.pick("sbs-a", "sbs-a", "sbs-b", "sbs-c")
            claim = thing("ResourceClaim", f"{self.prefix}-c{i}", namespace, spec=self.claim_spec(namespace))
            if self.chance(0.2):
                self.allocate(claim)
            self.resource_claims.append(claim)
            self.things.append(claim)
        for i in range(self.random.randint(1, 4)):
            namespace = self.pick("sbs-a", "sbs-a", "sbs-b", "sbs-c")
            self.templates.append(self.add("ResourceClaimTemplate", f"{self.prefix}-t{i}", namespace, spec={"spec": self.claim_spec(namespace)}))

    def allocate(self, claim):
        """An allocation that is there before any pod uses the claim: of a device that need not match, as after a change of its slice."""
        request = claim["spec"]["devices"]["requests"][0]
        usable = [each for each in self.slices if each["spec"].get("nodeName") and each["spec"].get("devices")]
        if "exactly" not in request or len(claim["spec"]["devices"]["requests"]) > 1 or {"adminAccess", "capacity"} & request["exactly"].keys() or not usable:
            return
        spec = self.pick(*usable)["spec"]
        device = self.pick(*spec["devices"])
        if device.get("allowMultipleAllocations"):
            return
        where = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [spec["nodeName"]]}]}]}
        claim["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
        claim["status"] = {"allocation": {"nodeSelector": where, "devices": {"results": [
            {"request": request["name"], "driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}]}}}

    # --- Pods.

    def container(self, name, sidecar=False):
        made = super().container(name, sidecar)
        if "cpu" in made["resources"]["requests"] and not self.rich["preemption"]:
            made["resources"]["requests"]["cpu"] = self.pick("50m", "100m", "200m")
        return made

    def next_pod(self, name):
        pod = super().next_pod(name)
        spec, namespace = pod["spec"], pod["metadata"]["namespace"]
        # Hardly any two nodes have the same score, so that the choice is not left to chance.
        preferred = [{"weight": 5 + 19 * i, "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node["metadata"]["name"]]}]}}
                     for i, node in enumerate(self.nodes)]
        affinity = spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
        self.random.shuffle(preferred)
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
        if self.chance(0.8):
            entries = [self.entry(f"e{i}", namespace) for i in range(self.pick(1, 1, 1, 2))]
            spec["resourceClaims"] = list({each.get("resourceClaimName", each["name"]): each for each in entries}.values())
            spec["containers"][0]["resources"]["claims"] = [{"name": each["name"]} for each in spec["resourceClaims"]]
        if self.chance(0.2):
            self.add_extended(pod)
        return pod

    def entry(self, name, namespace):
        claims = [each["metadata"]["name"] for each in self.resource_claims if each["metadata"]["namespace"] == namespace]
        templates = [each["metadata"]["name"] for each in self.templates if each["metadata"]["namespace"] == namespace]
        if self.chance(0.04):
            return {"name": name, "resourceClaimName": f"{self.prefix}-missing"}
        if templates and (not claims or self.chance(0.6)):
            return {"name": name, "resourceClaimTemplateName": self.pick(*templates)}
        return {"name": name, "resourceClaimName": self.pick(*claims) if claims else f"{self.prefix}-missing"}

    def add_extended(self, pod):
        containers = pod["spec"]["containers"] + pod["spec"].get("initContainers", [])
        for container in self.some(containers, 2) or containers[:1]:
            resources = container["resources"]
            name = "deviceclass.resource.kubernetes.io/" + self.pick(*self.device_classes)["metadata"]["name"]
            if "resourceClaims" not in pod["spec"] and self.chance(0.7):
                name = BACKED
            resources["requests"][name] = resources["limits"][name] = self.pick("1", "1", "2")

    # --- Changes.

    def change_taint_of_device(self, pod, tag):
        usable = [each for each in self.slices if each["spec"].get("devices") and "consumesCounters" not in each["spec"]["devices"][0]]
        if usable:
            chosen = self.pick(*usable)
            devices = copy.deepcopy(chosen["spec"]["devices"])
            device = self.pick(*devices)
            device["taints"] = self.pick([], [{"key": "ill", "effect": "NoSchedule"}])
            return "patch", chosen, {"spec": {"devices": devices}}, None

    def change_new_slice(self, pod, tag):
        if not self.nodes:
            return None
        node = self.pick(*self.nodes)["metadata"]["name"]
        driver = self.pick(GPU, GPU, NIC)
        made = self.slice(driver, f"{self.prefix}-pool{tag}", 0, {"nodeName": node}, 1, devices=[self.device(driver, i) for i in range(self.pick(1, 3))])
        self.slices.remove(made)
        return "create", made, None, None

    def change_lost_slice(self, pod, tag):
        if self.slices:
            return "delete", self.pick(*self.slices), None, None

    def change_missing_claim(self, pod, tag):
        entries = pod["spec"].get("resourceClaims", [])
        if any(each.get("resourceClaimName") == f"{self.prefix}-missing" for each in entries):
            namespace = pod["metadata"]["namespace"]
            return "create", thing("ResourceClaim", f"{self.prefix}-missing", namespace, spec=self.claim_spec(namespace)), None, None

    def change_class(self, pod, tag):
        return self.pick(
            ("create", thing("DeviceClass", f"{self.prefix}-missing", spec={}), None, None),
            ("patch", self.pick(*self.device_classes), {"spec": {"selectors": self.pick(None, [{"cel": {"expression": self.expression()}}])}}, None),
            ("patch", self.device_classes[0], {"spec": {"extendedResourceName": None}}, None))

    def change_allocated_claim(self, pod, tag):
        claims = [each for each in self.resource_claims if "status" in each]
        if claims:
            return "patch", self.pick(*claims), {"status": {"allocation": None}}, "status"

    def change_deleted_claim(self, pod, tag):
        if self.resource_claims and self.chance(0.4):
            return "delete", self.pick(*self.resource_claims), None, None

    def change_plugin(self, pod, tag):
        """A device plugin begins to count the resource, or ends."""
        if self.nodes:
            return "patch", self.pick(*self.nodes), {"status": {key: {BACKED: self.pick("0", "2", None)} for key in ("capacity", "allocatable")}}, "status"

    def change_earlier_pod(self, pod, tag):
        """A pod that was placed before, and has devices, is deleted."""
        if self.pods:
            return "delete", self.pick(*self.pods), None, None

    CHANGES = [change_taint_of_device, change_taint_of_device, change_new_slice, change_new_slice, change_lost_slice, change_missing_claim,
               change_missing_claim, change_class, change_allocated_claim, change_allocated_claim, change_deleted_claim, change_plugin,
               change_earlier_pod, change_earlier_pod, World.change_node_label, World.change_allocatable, World.change_taints, World.change_new_node,
               World.change_own_label, World.change_node_annotation]
