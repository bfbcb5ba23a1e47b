"""Random worlds in which the pods are of one template, each but for one thing: what a scheduler keeps for pods that are alike,
to judge the next one by, must not be used for one that is not. Played by side_by_side.py like the others (worlds.py).
"""

import copy

from worlds import NAMESPACES, World


class TwinWorld(World):
    NUMBER = (8, 14)

    def __init__(self, seed, rich=()):
        self.template, self.twins = None, []
        super().__init__(seed, rich)

    def next_pod(self, name):
        if self.template is None:
            self.template = self.make_template()
            self.pods_so_far = 0
        self.pods_so_far += 1
        if self.pods_so_far <= 2 or self.chance(0.2):
            made = self.template
        elif self.twins and self.chance(0.3):
            made = self.pick(*self.twins)
        else:
            made = copy.deepcopy(self.template)
            while made == self.template:
                self.pick(*self.MUTATIONS)(self, made)
            self.twins.append(made)
        made = copy.deepcopy(made)
        made["metadata"]["name"] = name
        return made

    def make_template(self):
        """Mostly without what makes pods too different to be kept together."""
        template = self.pod("template", False)
        if self.chance(0.8):
            for field in ("affinity", "runtimeClassName", "resources"):
                template["spec"].pop(field, None)
        return template

    def make_bystander(self, i, large):
        super().make_bystander(i, large)
        if self.template is None:
            self.template = self.make_template()
            self.pods_so_far = 0
        if self.chance(0.4):  # another of the template, which runs
            self.bystanders[-1]["metadata"]["labels"] = dict(self.template["metadata"]["labels"])
            self.bystanders[-1]["metadata"]["namespace"] = self.template["metadata"]["namespace"]
            self.bystanders[-1]["spec"].pop("volumes", None)

    # The one thing

    def other_label(self, pod):
        pod["metadata"]["labels"][self.pick("app", "tier", "version", "note")] = self.pick("a", "b", "c", "x", "y", "1")

    def other_annotation(self, pod):
        pod["metadata"]["annotations"] = {"note": self.pick("1", "2")}

    def other_namespace(self, pod):
        if "volumes" not in pod["spec"]:
            pod["metadata"]["namespace"] = self.pick(*NAMESPACES)
            pod["metadata"].pop("ownerReferences", None)

    def other_toleration(self, pod):
        tolerations = pod["spec"].get("tolerations", [])
        if tolerations and self.chance(0.5):
            self.pick(*tolerations).update(self.pick({"effect": "NoSchedule"}, {"effect": "PreferNoSchedule"}, {"key": "dedicated"}))
        else:
            pod["spec"]["tolerations"] = tolerations + self.tolerations()[:1]

    def other_environment(self, pod):
        pod["spec"]["containers"][0]["env"] = [{"name": "NOTE", "value": self.pick("1", "2")}]

    def other_image(self, pod):
        self.pick(*pod["spec"]["containers"])["image"] = self.pick("a", "b:latest", "registry.example.com/a:1", "registry.example.com/c:1")

    def other_port(self, pod):
        port = {"containerPort": 80, "hostPort": self.pick(8080, 8081), "protocol": self.pick("TCP", "UDP")}
        if self.chance(0.4):
            port["hostIP"] = self.pick("0.0.0.0", "127.0.0.1")
        pod["spec"]["containers"][0]["ports"] = [port]

    def other_request(self, pod):
        requests = self.pick(*pod["spec"]["containers"])["resources"]["requests"]
        requests.update(self.pick({"cpu": "101m"}, {"cpu": "1"}, {"cpu": "1000m"}, {"memory": "1Gi"}, {"memory": "1025Mi"}, {"cpu": "2500m"}))

    def other_limit(self, pod):
        self.pick(*pod["spec"]["containers"])["resources"]["limits"]["cpu"] = self.pick("4", "5")

    def other_scalar(self, pod):
        resources = pod["spec"]["containers"][0]["resources"]
        name, amount = self.pick(("example.com/gpu", "1"), ("example.com/gpu", "2"), ("kubernetes.io/batch-cpu", "1000"))
        resources["requests"][name] = resources["limits"][name] = amount

    def other_init(self, pod):
        pod["spec"]["initContainers"] = [self.container("init0", sidecar=self.chance(0.5))]

    def other_restart(self, pod):
        """An init container that goes on, or does not any more."""
        for container in pod["spec"].get("initContainers", [])[:1]:
            if container.pop("restartPolicy", None) is None:
                container["restartPolicy"] = "Always"

    def other_priority(self, pod):
        pod["spec"]["priorityClassName"] = self.pick("sbs-low", "sbs-middle", "sbs-high", "sbs-patient")

    def other_selector(self, pod):
        pod["spec"]["nodeSelector"] = self.pick({"disk": "ssd"}, {"disk": "hdd"}, {"topology.kubernetes.io/zone": "z1"}, {"rack": "1"})

    def other_node_affinity(self, pod):
        pod["spec"].setdefault("affinity", {})["nodeAffinity"] = self.node_affinity()

    def other_pod_affinity(self, pod):
        pod["spec"].setdefault("affinity", {})[self.pick("podAffinity", "podAntiAffinity")] = self.pod_affinity()

    def other_spread(self, pod):
        constraints = pod["spec"].get("topologySpreadConstraints")
        if not constraints:
            pod["spec"]["topologySpreadConstraints"] = self.spread()
            return
        constraint = self.pick(*constraints)
        constraint["labelSelector"] = self.selector()
        constraint.pop("matchLabelKeys", None)

    def other_skew(self, pod):
        for constraint in pod["spec"].get("topologySpreadConstraints", [])[:1]:
            constraint["maxSkew"] = self.pick(1, 2, 4)

    def other_volume(self, pod):
        if self.rich["volumes"]:
            pod["spec"]["volumes"] = [self.pod_volume("v0", pod["metadata"]["namespace"])]

    def other_runtime(self, pod):
        pod["spec"]["runtimeClassName"] = "sbs-sandbox"

    def other_gate(self, pod):
        pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]

    def other_network(self, pod):
        pod["spec"]["hostNetwork"] = True
        for container in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
            for port in container.get("ports", []):
                port["containerPort"] = port["hostPort"]

    def other_owner(self, pod):
        if not pod["metadata"].pop("ownerReferences", None):
            self.owner_of(pod)

    def other_whole(self, pod):
        """An amount for all of its containers."""
        pod["spec"]["resources"] = {"requests": {"cpu": self.pick("7", "8")}}

    def other_time(self, pod):
        pod["spec"]["activeDeadlineSeconds"] = 600

    MUTATIONS = [other_label, other_label, other_annotation, other_namespace, other_toleration, other_toleration, other_environment, other_image,
                 other_image, other_port, other_port, other_request, other_request, other_limit, other_scalar, other_init, other_restart, other_priority,
                 other_selector, other_selector, other_node_affinity, other_pod_affinity, other_spread, other_spread, other_skew, other_volume,
                 other_volume, other_runtime, other_gate, other_network, other_owner, other_whole, other_time]
