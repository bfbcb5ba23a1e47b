"""Random worlds: what stands before a scheduler starts, the pods it shall place, and what changes while one waits.

A world of the same seed is the same world. Amounts come from short lists, so that things often fit just so, and
names from few letters, so that selectors often match.
"""

import random

NAMESPACES = {"sbs-a": {"team": "red"}, "sbs-b": {"team": "blue"},
              "sbs-c": {"team": "red", "stage": "test", "resource.kubernetes.io/admin-access": "true"}}
PRIORITIES = {"sbs-low": (-10, None), "sbs-middle": (100, None), "sbs-high": (1000, None), "sbs-patient": (1000, "Never")}
DRIVER, CAPACITY_DRIVER = "csi.example.com", "local.example.com"
NODE_KEYS = ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"]
IMAGES = {"a": 30, "b": 400, "c": 1500}  # MiB
OWNER = "sbs"  # label of everything that is made here


def thing(kind, name, namespace=None, labels=None, annotations=None, **fields):
    meta = {"name": name, "labels": {**(labels or {}), OWNER: "true"}}
    if namespace:
        meta["namespace"] = namespace
    if annotations:
        meta["annotations"] = annotations
    return {"kind": kind, "metadata": meta, **fields}


def fixed_things():
    """What all worlds share."""
    yield from (thing("Namespace", name, labels=labels) for name, labels in NAMESPACES.items())
    for name, (value, policy) in PRIORITIES.items():
        yield thing("PriorityClass", name, value=value, **({"preemptionPolicy": policy} if policy else {}))
    yield thing("RuntimeClass", "sbs-sandbox", handler="sandbox", overhead={"podFixed": {"cpu": "250m", "memory": "128Mi"}})


class World:
    """rich: subjects that it is rich in whatever the seed says. things: in the order of their creation. pods: to be placed one after the other. changes: for each pod, what
    happens should it not be placed: a list of (verb, object, change, subresource)."""

    NUMBER = (4, 8)  # of pods
    RICH = 0.4  # the probability of each subject
    SUBJECTS = ("resources", "taints", "ports", "node affinity", "pod affinity", "spread", "volumes", "images", "preemption", "budgets", "gates")

    def __init__(self, seed, rich=()):
        self.random = random.Random(seed)
        self.seed = seed
        self.prefix = f"s{seed}"
        self.ports, self.sole = {}, set()
        self.things, self.nodes, self.bystanders, self.claims, self.classes, self.volumes = [], [], [], [], [], []
        # Each world is rich in some subjects and has nothing of others, or no pod would ever fit.
        self.rich = {name: self.chance(self.RICH) or name in rich for name in self.SUBJECTS}
        self.make_nodes()
        if self.rich["volumes"]:
            self.make_storage()
        self.owners = []
        if self.chance(0.3):
            self.make_services()
        crowded = self.rich["preemption"] and self.chance(0.7)
        for i in range(self.random.randint(0, (5 if crowded else 2) * len(self.nodes))):
            self.make_bystander(i, crowded)
        if self.rich["budgets"]:
            self.make_budgets()
        self.keep_nominated = self.chance(0.5)  # pods that wait for their victims stay, and count for those after them
        self.pods, self.changes = [], []
        for i in range(self.random.randint(*self.NUMBER)):
            pod = self.next_pod(f"{self.prefix}-p{i}")
            self.pods.append(pod)
            self.changes.append([self.change(pod, i, k) for k in range(self.random.randint(1, 3))])

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, *items):
        return self.random.choice(items)

    def some(self, items, most):
        items = list(items)
        return self.random.sample(items, self.random.randint(0, min(most, len(items))))

    def add(self, kind, name, namespace=None, **fields):
        made = thing(kind, name, namespace, **fields)
        self.things.append(made)
        return made

    # Nodes

    def node(self, name):
        labels = {"kubernetes.io/hostname": name} if self.chance(0.95) else {}
        if self.chance(0.9):
            labels["topology.kubernetes.io/zone"] = self.pick("z1", "z2", "z3")
            labels["topology.kubernetes.io/region"] = "r1"
        if self.chance(0.6):
            labels["rack"] = self.pick("1", "2")
        if self.chance(0.5):
            labels["disk"] = self.pick("ssd", "hdd")
        if self.chance(0.5):
            labels["size"] = self.pick("1", "2", "10", "big", "-3")
        taints = self.taints() if self.rich["taints"] else []
        amount = {"cpu": self.pick("2", "4", "4", "8", "3500m"), "memory": self.pick("4Gi", "8Gi", "8Gi", "7000Mi", "16G"),
                  "pods": self.pick("110", "110", "110", "4", "2")}
        if self.rich["resources"]:
            for key, values in {"ephemeral-storage": ("10Gi", "100Gi"), "example.com/gpu": ("1", "2", "8"),
                                "hugepages-2Mi": ("64Mi", "1Gi"), "kubernetes.io/batch-cpu": ("2000", "4000"),
                                "kubernetes.io/batch-memory": ("4Gi",)}.items():
                if self.chance(0.6):
                    amount[key] = self.pick(*values)
        status = {"capacity": amount, "allocatable": amount}
        if self.rich["images"]:
            # One size per image: of nodes that tell different ones, kube-scheduler believes the first.
            status["images"] = [{"names": [f"registry.example.com/{image}:1"] + ([image + ":latest"] if self.chance(0.5) else []),
                                 "sizeBytes": IMAGES[image] << 20} for image in self.some(IMAGES, 3)]
        spec = {"taints": taints}
        if self.chance(0.08):
            spec["unschedulable"] = True
        return thing("Node", name, labels=labels, spec=spec, status=status)

    def taints(self):
        taints = {}
        for _ in range(self.pick(0, 0, 0, 1, 1, 2)):
            taint = {"key": self.pick("dedicated", "maintenance", "level"), "value": self.pick("a", "b", "5"),
                     "effect": self.pick("NoSchedule", "PreferNoSchedule", "PreferNoSchedule", "NoExecute")}
            taints[taint["key"], taint["effect"]] = taint
        return list(taints.values())

    def make_nodes(self):
        for i in range(self.pick(0, 1, 2, 3, 4, 5, 6, 6, 8, 8)):
            node = self.node(f"{self.prefix}-n{i}")
            self.nodes.append(node)
            self.things.append(node)

    # Storage

    def make_storage(self):
        self.add("CSIDriver", CAPACITY_DRIVER, spec={"storageCapacity": True, "attachRequired": False})
        late = "WaitForFirstConsumer"
        self.storage_class("now", "Immediate", DRIVER)
        self.storage_class("later", late, DRIVER)
        self.storage_class("static", late, "kubernetes.io/no-provisioner")
        self.storage_class("local", late, CAPACITY_DRIVER)
        self.storage_class("zonal", late, DRIVER, allowedTopologies=[
            {"matchLabelExpressions": [{"key": "topology.kubernetes.io/zone", "values": ["z1", "z2"]}]}])
        for node in self.nodes:
            if self.chance(0.7):
                drivers = [{"name": DRIVER, "nodeID": node["metadata"]["name"], "topologyKeys": [],
                            **({"allocatable": {"count": self.pick(1, 2, 3)}} if self.chance(0.8) else {})}]
                self.add("CSINode", node["metadata"]["name"], spec={"drivers": drivers})
        for i in range(self.pick(0, 1, 2)):
            self.things.append(self.capacity(i))
        for i in range(self.random.randint(0, 4)):
            self.things.append(self.volume(f"{self.prefix}-free{i}", f"{self.prefix}-static"))
        for i in range(self.random.randint(2, 8)):
            self.make_claim(i)
        for i, volume in enumerate(self.some(self.volumes, 3)):
            if self.nodes:
                self.add("VolumeAttachment", f"{self.prefix}-a{i}", status={"attached": self.chance(0.7)}, spec={
                    "attacher": DRIVER, "nodeName": self.pick(*self.nodes)["metadata"]["name"],
                    "source": {"persistentVolumeName": volume["metadata"]["name"]}})

    def storage_class(self, name, mode, provisioner, **fields):
        self.classes.append(self.add("StorageClass", f"{self.prefix}-{name}", provisioner=provisioner,
                                     volumeBindingMode=mode, **fields))

    def capacity(self, i):
        return thing("CSIStorageCapacity", f"{self.prefix}-c{i}", "sbs-a", storageClassName=f"{self.prefix}-local",
                     capacity=self.pick("1Gi", "5Gi", "20Gi"),
                     **({"maximumVolumeSize": self.pick("1Gi", "5Gi")} if self.chance(0.4) else {}),
                     nodeTopology=self.pick({}, {"matchLabels": {"topology.kubernetes.io/zone": self.pick("z1", "z2")}}))

    def volume(self, name, storage_class, claim=None):
        spec = {"capacity": {"storage": self.pick("1Gi", "5Gi", "10Gi")}, "accessModes": ["ReadWriteOnce"],
                "storageClassName": storage_class, "persistentVolumeReclaimPolicy": "Retain",
                "csi": {"driver": DRIVER, "volumeHandle": name}}
        labels = {}
        if claim:
            spec["claimRef"] = claim
        if self.chance(0.5):
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [self.node_expression()]}]}}
        elif self.chance(0.4):
            labels["topology.kubernetes.io/zone"] = self.pick("z1", "z2", "z1__z3")
        made = thing("PersistentVolume", name, labels=labels, spec=spec, status={"phase": "Bound" if claim else "Available"})
        self.volumes.append(made)
        return made

    def make_claim(self, i):
        name, namespace = f"{self.prefix}-c{i}", self.pick("sbs-a", "sbs-a", "sbs-b")
        storage_class = self.pick(*self.classes)["metadata"]["name"]
        spec = {"accessModes": [self.pick("ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod")],
                "storageClassName": storage_class, "resources": {"requests": {"storage": self.pick("1Gi", "5Gi", "8Gi")}}}
        bound = self.chance(0.5)
        annotations = {}
        if bound:
            spec["volumeName"] = f"{self.prefix}-v{i}"
            annotations["pv.kubernetes.io/bind-completed"] = "yes"
            if self.chance(0.93):
                self.things.append(self.volume(spec["volumeName"], storage_class, {"namespace": namespace, "name": name}))
        self.claims.append(self.add("PersistentVolumeClaim", name, namespace, annotations=annotations, spec=spec,
                                    status={"phase": "Bound" if bound else "Pending"}))

    # Others around

    def make_services(self):
        for i in range(self.pick(1, 2)):
            self.add("Service", f"{self.prefix}-s{i}", self.pick("sbs-a", "sbs-b"),
                     spec={"selector": {"app": self.pick("a", "b")}, "ports": [{"port": 80}]})

        for i in range(self.pick(0, 1, 2)):
            kind, labels = self.pick("ReplicaSet", "StatefulSet", "ReplicationController"), {"app": self.pick("a", "b")}
            spec = {"replicas": 0, "selector": labels if kind == "ReplicationController" else {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "web:1"}]}}}
            if kind == "StatefulSet":
                spec["serviceName"] = "web"
            self.owners.append(self.add(kind, f"{self.prefix}-o{i}", self.pick("sbs-a", "sbs-b"), spec=spec))

    def owner_of(self, pod):
        for owner in self.owners:
            if owner["metadata"]["namespace"] == pod["metadata"]["namespace"] and self.chance(0.5):
                version = "v1" if owner["kind"] == "ReplicationController" else "apps/v1"
                pod["metadata"]["ownerReferences"] = [{"apiVersion": version, "kind": owner["kind"], "name": owner["metadata"]["name"],
                                                       "uid": "12345678-0000-0000-0000-000000000000", "controller": True}]
                return

    def make_budgets(self):
        for i in range(self.pick(1, 2, 3)):
            self.add("PodDisruptionBudget", f"{self.prefix}-b{i}", self.pick("sbs-a", "sbs-b"),
                     spec={"minAvailable": 1, "selector": self.pick({"matchLabels": {"app": self.pick("a", "b", "c")}}, {})},
                     status={"disruptionsAllowed": self.pick(0, 0, 1, 2), "currentHealthy": 1, "desiredHealthy": 1,
                             "expectedPods": 1, "observedGeneration": 1})

    def make_bystander(self, i, large):
        pod = self.pod(f"{self.prefix}-e{i}", False)
        if large:
            pod["spec"]["containers"][0]["resources"]["requests"].update(cpu=self.pick("500m", "1", "1500m", "2"), memory="1Gi")
        if "schedulingGates" in pod["spec"]:
            del pod["spec"]["schedulingGates"]
        pod["spec"]["nodeName"] = self.pick(*self.nodes)["metadata"]["name"]
        self.share_ports(pod)
        self.share_claims(pod)
        if self.rich["preemption"]:
            pod["spec"]["priorityClassName"] = self.pick("sbs-low", "sbs-low", "sbs-middle", "sbs-high")
        # Distinct start times: or preemption would have equals to choose from.
        pod["status"] = {"phase": self.pick("Running", "Running", "Running", "Running", "Pending", "Succeeded"),
                         "startTime": f"2026-01-01T{self.random.randint(0, 23):02}:{i:02}:00Z"}
        if self.rich["preemption"] and self.chance(0.25):
            pod["spec"]["terminationGracePeriodSeconds"] = 600  # nobody here ends it sooner
        if self.chance(0.05):
            pod["metadata"]["finalizers"] = ["example.com/stays"]  # deleted below: terminating for good
        self.bystanders.append(pod)
        self.things.append(pod)

    def share_ports(self, pod):
        """Takes ports away that another pod of the node has: no scheduler would have put it there, and kube-scheduler believes
        a port to be free again when one of the two goes."""
        used = self.ports.setdefault(pod["spec"]["nodeName"], set())
        for container in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
            container["ports"] = [port for port in container.get("ports", []) if (port["hostPort"], port["protocol"]) not in used]
            used |= {(port["hostPort"], port["protocol"]) for port in container["ports"]}

    def share_claims(self, pod):
        """Leaves each ReadWriteOncePod claim to one pod; kube-scheduler counts on nobody else having it."""
        def free(volume):
            name = volume.get("persistentVolumeClaim", {}).get("claimName")
            claim = next((claim for claim in self.claims if claim["metadata"]["name"] == name), None)
            if claim is None or "ReadWriteOncePod" not in claim["spec"]["accessModes"]:
                return True
            if name in self.sole:
                return False
            self.sole.add(name)
            return True
        if "volumes" in pod["spec"]:
            pod["spec"]["volumes"] = [volume for volume in pod["spec"]["volumes"] if free(volume)]

    # Pods

    def next_pod(self, name):
        """One that is to be placed."""
        return self.pod(name, self.rich["gates"] and self.chance(0.3))

    def labels(self):
        labels = {"app": self.pick("a", "b", "c")}
        if self.chance(0.5):
            labels["tier"] = self.pick("x", "y")
        if self.chance(0.3):
            labels["version"] = self.pick("1", "2")
        return labels

    def pod(self, name, gated):
        namespace = self.pick("sbs-a", "sbs-a", "sbs-a", "sbs-b", "sbs-c")
        spec = {"terminationGracePeriodSeconds": 0, "containers": [self.container("main")]}
        if self.chance(0.2):
            spec["containers"].append(self.container("second"))
        if self.chance(0.25):
            spec["initContainers"] = [self.container(f"init{i}", sidecar=self.chance(0.4)) for i in range(self.pick(1, 2, 3))]
        if self.rich["resources"] and self.chance(0.15):
            spec["resources"] = {"requests": {"cpu": self.pick("3", "6"), "memory": self.pick("4Gi", "6Gi")}}
        if self.chance(0.1):
            spec["runtimeClassName"] = "sbs-sandbox"
        if self.rich["preemption"] and self.chance(0.8):
            spec["priorityClassName"] = self.pick("sbs-middle", "sbs-high", "sbs-high", "sbs-patient", "sbs-low")
        if gated:
            spec["schedulingGates"] = [{"name": "example.com/wait"}]
        if self.chance(0.7 if self.rich["taints"] else 0.1):
            spec["tolerations"] = self.tolerations()
        affinity = {}
        if self.rich["node affinity"] and self.chance(0.6):
            if self.chance(0.4):
                spec["nodeSelector"] = self.pick({"disk": "ssd"}, {"disk": "hdd"}, {"topology.kubernetes.io/zone": "z1"}, {"size": "10"})
            affinity["nodeAffinity"] = self.node_affinity()
        if self.rich["pod affinity"] and self.chance(0.7):
            for kind in self.some(["podAffinity", "podAntiAffinity"], 2):
                affinity[kind] = self.pod_affinity()
        if affinity:
            spec["affinity"] = affinity
        if self.rich["spread"] and self.chance(0.7):
            spec["topologySpreadConstraints"] = self.spread()
        if self.rich["volumes"] and self.chance(0.7):
            spec["volumes"] = [self.pod_volume(f"v{i}", namespace) for i in range(self.pick(1, 1, 2))]
        made = thing("Pod", name, namespace, labels=self.labels(), spec=spec)
        self.owner_of(made)
        return made

    def container(self, name, sidecar=False):
        requests = {}
        if self.chance(0.75):
            requests["cpu"] = self.pick("0", "100m", "500m", "1", "1500m", "2", "3")
        if self.chance(0.6):
            requests["memory"] = self.pick("0", "100Mi", "1Gi", "3Gi", "1G", "4000000k")
        limits = {}
        if self.rich["resources"]:
            for key, values in {"ephemeral-storage": ("1Gi", "20Gi"), "example.com/gpu": ("1", "2"), "hugepages-2Mi": ("32Mi", "128Mi"),
                                "kubernetes.io/batch-cpu": ("1000", "3000"), "example.com/none": ("1",)}.items():
                if self.chance(0.01 if key == "example.com/none" else 0.08):
                    requests[key] = limits[key] = self.pick(*values)
            if "hugepages-2Mi" in requests:
                requests.setdefault("cpu", "100m")
        made = {"name": name, "image": self.pick("a", "b:latest", "registry.example.com/a:1", "registry.example.com/c:1", "web:1"),
                "resources": {"requests": requests, "limits": limits}}
        if self.rich["ports"] and self.chance(0.6):
            made["ports"] = [{"containerPort": 80, "hostPort": self.pick(8080, 8081), "protocol": self.pick("TCP", "TCP", "UDP"),
                              **({"hostIP": self.pick("0.0.0.0", "127.0.0.1", "10.0.0.1")} if self.chance(0.5) else {})}]
        if sidecar:
            made["restartPolicy"] = "Always"
        return made

    def tolerations(self):
        tolerations = []
        for _ in range(self.pick(1, 1, 2, 3)):
            toleration = {"operator": self.pick("Exists", "Equal")}
            if toleration["operator"] == "Equal" or self.chance(0.85):
                toleration["key"] = self.pick("dedicated", "maintenance", "level", "node.kubernetes.io/unschedulable")
            if toleration["operator"] == "Equal":
                toleration["value"] = self.pick("a", "b", "5", "")
            if self.chance(0.6):
                toleration["effect"] = self.pick("NoSchedule", "NoExecute", "PreferNoSchedule")
            tolerations.append(toleration)
        return tolerations

    def node_expression(self):
        key, values = self.pick(("disk", ["ssd", "hdd"]), ("topology.kubernetes.io/zone", ["z1", "z2", "z3"]), ("size", ["1", "2", "10"]),
                                ("rack", ["1", "2"]))
        operator = self.pick("In", "In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
        expression = {"key": key, "operator": operator}
        if operator in ("In", "NotIn"):
            expression["values"] = self.some(values, 2) or values[:1]
        elif operator in ("Gt", "Lt"):
            expression["key"], expression["values"] = "size", [self.pick("1", "2", "5", "-4")]
        return expression

    def node_term(self):
        term = {"matchExpressions": [self.node_expression() for _ in range(self.pick(0, 1, 1, 2))]}
        if self.nodes and self.chance(0.2):
            term["matchFields"] = [{"key": "metadata.name", "operator": self.pick("In", "In", "NotIn"),
                                    "values": [self.pick(*self.nodes)["metadata"]["name"]]}]
        return term

    def node_affinity(self):
        affinity = {}
        if self.chance(0.6):
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
                "nodeSelectorTerms": [self.node_term() for _ in range(self.pick(1, 1, 2))]}
        if self.chance(0.6):
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.pick(1, 10, 50, 100), "preference": self.node_term()} for _ in range(self.pick(1, 2))]
        return affinity

    def selector(self):
        if self.chance(0.1):
            return {}
        selector = {}
        if self.chance(0.7):
            selector["matchLabels"] = {"app": self.pick("a", "b", "c")}
        if self.chance(0.4):
            operator = self.pick("In", "NotIn", "Exists", "DoesNotExist")
            selector["matchExpressions"] = [{"key": self.pick("tier", "version"), "operator": operator,
                                             **({"values": [self.pick("x", "y", "1")]} if operator in ("In", "NotIn") else {})}]
        return selector

    def pod_term(self):
        term = {"topologyKey": self.pick(*NODE_KEYS), "labelSelector": self.selector()}
        if self.chance(0.2):
            term["namespaces"] = self.some(NAMESPACES, 2)
        if self.chance(0.2):
            term["namespaceSelector"] = self.pick({}, {"matchLabels": {"team": "red"}}, {"matchLabels": {"stage": "test"}})
        if self.chance(0.15):
            term[self.pick("matchLabelKeys", "mismatchLabelKeys")] = ["pod-template-hash" if self.chance(0.3) else "version"]
        if self.chance(0.05):
            del term["labelSelector"]
            term.pop("matchLabelKeys", None)
            term.pop("mismatchLabelKeys", None)
        return term

    def pod_affinity(self):
        affinity = {}
        if self.chance(0.5):
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = [self.pod_term() for _ in range(self.pick(1, 1, 2))]
        if self.chance(0.6):
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.pick(1, 30, 100), "podAffinityTerm": self.pod_term()} for _ in range(self.pick(1, 2))]
        return affinity

    def spread(self):
        constraints = {}
        for _ in range(self.pick(1, 1, 2, 3)):
            constraint = {"topologyKey": self.pick(*NODE_KEYS), "maxSkew": self.pick(1, 1, 2, 3),
                          "whenUnsatisfiable": self.pick("DoNotSchedule", "ScheduleAnyway"), "labelSelector": self.selector()}
            if self.chance(0.05):
                del constraint["labelSelector"]
            elif self.chance(0.2):
                constraint["matchLabelKeys"] = [self.pick("version", "pod-template-hash")]
            if constraint["whenUnsatisfiable"] == "DoNotSchedule" and self.chance(0.25):
                constraint["minDomains"] = self.pick(1, 2, 3, 4)
            for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
                if self.chance(0.3):
                    constraint[policy] = self.pick("Honor", "Ignore")
            constraints[constraint["topologyKey"], constraint["whenUnsatisfiable"]] = constraint
        return list(constraints.values())

    def pod_volume(self, name, namespace):
        kind = self.random.random()
        claims = [claim for claim in self.claims if claim["metadata"]["namespace"] == namespace]
        if kind < 0.65 and claims:
            return {"name": name, "persistentVolumeClaim": {"claimName": self.pick(*claims)["metadata"]["name"]}}
        if kind < 0.7:
            return {"name": name, "persistentVolumeClaim": {"claimName": f"{self.prefix}-missing"}}
        if kind < 0.75:
            return {"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}
        read_only = self.chance(0.5)
        return {"name": name, **self.pick(
            {"gcePersistentDisk": {"pdName": self.pick("d1", "d2"), "readOnly": read_only}},
            {"awsElasticBlockStore": {"volumeID": self.pick("e1", "e2"), "readOnly": read_only}},
            {"iscsi": {"targetPortal": "10.0.0.9:3260", "iqn": "iqn.2026-01.com.example:" + self.pick("l1", "l2"), "lun": 0, "readOnly": read_only}},
            {"rbd": {"monitors": self.pick(["m1"], ["m1", "m2"], ["m3"]), "pool": "rbd", "image": self.pick("i1", "i2"), "readOnly": read_only}},
            {"csi": {"driver": self.pick(DRIVER, CAPACITY_DRIVER)}}, {"image": {"reference": "registry.example.com/c:1"}}, {"emptyDir": {}})}

    # Changes

    def change(self, pod, i, k):
        """Something that happens while the pod waits: (verb, object, change, subresource)."""
        made = None
        while made is None:
            made = self.pick(*self.CHANGES)(self, pod, f"{i}{k}")
        return made

    def change_node_label(self, pod, tag):
        if self.nodes:
            key = self.pick("disk", "rack", "size", "topology.kubernetes.io/zone", "unrelated")
            return "patch", self.pick(*self.nodes), {"metadata": {"labels": {key: self.pick("ssd", "1", "10", "z1", "z2", None)}}}, None

    def change_taints(self, pod, tag):
        if self.nodes:
            return "patch", self.pick(*self.nodes), {"spec": {"taints": self.pick([], self.taints())}}, None

    def change_cordon(self, pod, tag):
        if self.nodes:
            return "patch", self.pick(*self.nodes), {"spec": {"unschedulable": self.pick(True, None, None)}}, None

    def change_allocatable(self, pod, tag):
        if self.nodes:
            key, values = self.pick(("cpu", ("1", "16")), ("memory", ("1Gi", "64Gi")), ("pods", ("1", "200")), ("example.com/gpu", ("0", "16")),
                                    ("ephemeral-storage", ("200Gi",)))
            return "patch", self.pick(*self.nodes), {"status": {"allocatable": {key: self.pick(*values)}}}, "status"

    def change_node_status(self, pod, tag):
        if self.nodes:
            return "patch", self.pick(*self.nodes), {"status": {"conditions": [
                {"type": "Ready", "status": self.pick("True", "False"), "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                 "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "x", "message": "x"}]}}, "status"

    def change_node_annotation(self, pod, tag):
        if self.nodes:
            return "patch", self.pick(*self.nodes), {"metadata": {"annotations": {"note": tag}}}, None

    def change_new_node(self, pod, tag):
        node = self.node(f"{self.prefix}-n{tag}x")
        node["status"].pop("images", None)  # kube-scheduler lets the other nodes count as many holders as before
        return "create", node, None, None

    def change_lost_node(self, pod, tag):
        if self.nodes and not self.rich["images"] and self.chance(0.3):
            return "delete", self.pick(*self.nodes), None, None

    def change_pod_gone(self, pod, tag):
        if self.bystanders:
            return "delete", self.pick(*self.bystanders), None, None

    def change_pod_label(self, pod, tag):
        if self.bystanders:
            return "patch", self.pick(*self.bystanders), {"metadata": {"labels": {self.pick("app", "tier"): self.pick("a", "b", "x", None)}}}, None

    def change_new_pod(self, pod, tag):
        if self.nodes:
            other = self.pod(f"{self.prefix}-x{tag}", False)
            other["spec"]["nodeName"] = self.pick(*self.nodes)["metadata"]["name"]
            self.share_ports(other)
            self.share_claims(other)
            other["status"] = {"phase": "Running", "startTime": "2026-01-02T00:00:00Z"}
            return "create", other, None, None

    def change_finished(self, pod, tag):
        if self.bystanders:
            return "patch", self.pick(*self.bystanders), {"status": {"phase": "Succeeded"}}, "status"

    def change_resize(self, pod, tag):
        if self.bystanders:
            other = self.pick(*self.bystanders)
            requests = {k: v for k, v in {"cpu": self.pick("50m", "100m"), "memory": "64Mi"}.items()
                        if k in other["spec"]["containers"][0]["resources"]["requests"]}
            if requests:
                return "patch-list", other, {"spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]}}, "resize"

    def change_namespace(self, pod, tag):
        return "patch", thing("Namespace", self.pick(*NAMESPACES)), {"metadata": {"labels": {"stage": self.pick("test", None)}}}, None

    def change_own_label(self, pod, tag):
        return "patch", pod, {"metadata": {"labels": {self.pick("app", "tier"): self.pick("a", "b", "c", "x")}}}, None

    def change_own_annotation(self, pod, tag):
        return "patch", pod, {"metadata": {"annotations": {"note": tag}}}, None

    def change_own_toleration(self, pod, tag):
        return "tolerate", pod, self.tolerations()[:1], None

    def change_gates(self, pod, tag):
        if "schedulingGates" in pod["spec"]:
            return "patch", pod, {"spec": {"schedulingGates": []}}, None

    def change_claim(self, pod, tag):
        for volume in pod["spec"].get("volumes", []):
            name = volume.get("persistentVolumeClaim", {}).get("claimName")
            if name == f"{self.prefix}-missing" and self.classes:
                return "create", thing("PersistentVolumeClaim", name, pod["metadata"]["namespace"], spec={
                    "accessModes": ["ReadWriteOnce"], "storageClassName": self.pick(*self.classes)["metadata"]["name"],
                    "resources": {"requests": {"storage": "1Gi"}}}), None, None
            if "ephemeral" in volume:
                return "own", thing("PersistentVolumeClaim", pod["metadata"]["name"] + "-" + volume["name"], pod["metadata"]["namespace"], spec={
                    "accessModes": ["ReadWriteOnce"], "storageClassName": f"{self.prefix}-later",
                    "resources": {"requests": {"storage": "1Gi"}}}), pod, None
        if self.claims:
            return "patch", self.pick(*self.claims), {"metadata": {"annotations": {"note": tag}}}, None

    def change_storage(self, pod, tag):
        if self.classes:
            return self.pick(
                ("create", self.volume(f"{self.prefix}-free{tag}", f"{self.prefix}-static"), None, None),
                ("create", self.capacity("x" + tag), None, None),
                ("create", thing("StorageClass", f"{self.prefix}-class{tag}", provisioner=DRIVER, volumeBindingMode="WaitForFirstConsumer"), None, None),
                ("patch", thing("CSIDriver", CAPACITY_DRIVER), {"spec": {"storageCapacity": self.pick(True, False)}}, None))

    def change_capacity(self, pod, tag):
        capacities = [t for t in self.things if t["kind"] == "CSIStorageCapacity"]
        if capacities:
            return "patch", self.pick(*capacities), {"capacity": self.pick("1Gi", "50Gi")}, None

    def change_csi_node(self, pod, tag):
        nodes = [t for t in self.things if t["kind"] == "CSINode"]
        if nodes:
            node = self.pick(*nodes)
            return self.pick(("patch", node, {"metadata": {"annotations": {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"}}}, None),
                             ("delete", node, None, None))

    def change_lost_storage(self, pod, tag):
        lost = self.volumes + self.claims + self.classes
        if lost and self.chance(0.5):
            return "delete", self.pick(*lost), None, None

    def change_attachment(self, pod, tag):
        attachments = [t for t in self.things if t["kind"] == "VolumeAttachment"]
        if attachments:
            return "delete", self.pick(*attachments), None, None

    def change_volume_label(self, pod, tag):
        if self.volumes:
            return "patch", self.pick(*self.volumes), {"metadata": {"labels": {self.pick("topology.kubernetes.io/zone", "note"): self.pick("z1", "z2", None)}}}, None

    CHANGES = [change_node_label, change_node_label, change_taints, change_cordon, change_allocatable, change_allocatable, change_node_status,
               change_node_annotation, change_new_node, change_lost_node, change_pod_gone, change_pod_gone, change_pod_label, change_new_pod,
               change_finished, change_own_label, change_own_annotation, change_own_toleration, change_gates, change_gates, change_claim,
               change_storage, change_capacity, change_csi_node, change_volume_label, change_lost_storage, change_resize,
               change_namespace, change_attachment]
