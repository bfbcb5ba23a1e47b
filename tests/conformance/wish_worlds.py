"""Random worlds of reservations with rules and of pods that ask for them: labels, orders, taints, policies, host ports and
limits on the one side, names, selectors, terms, tolerations, exact amounts and gangs on the other.

As job_worlds.py, and away from the same differences: nobody asks for more than a reservation has left, unless its policy
keeps him out, an exact match names what the reservation has, gangs do not meet reservations for one owner, which upstream gives to
all members that come at once, and no reservation with a host port goes: upstream then gives its owner's port away.
"""

import json

from job_worlds import GANG, JobWorld

KEY = "scheduling.koordinator.sh/"
GANGS = "gang.scheduling.koordinator.sh/"


class WishWorld(JobWorld):
    def build(self):
        self.preempting = False
        self.things += [self.node() for _ in range(self.random.randint(1, 3))]
        self.once = self.chance(0.5)  # reservations for one owner, or gangs
        self.ports = not self.once and self.chance(0.5)
        wishers = [self.wisher] * 8 if self.once else [self.wisher] * 5 + [self.wishing_gang] * 3
        kinds = [self.ruled] * 4 + wishers + [self.group, self.plain, self.plain if self.ports else self.departure, self.change, self.growth]
        self.steps = [self.ruled() + self.ruled()] + [self.pick(*kinds)() for _ in range(self.random.randint(7, 11))]

    def ruled(self):
        """A reservation with rules."""
        name, cpu = f"{self.prefix}-{self.name('r')}", self.pick(1000, 2000, 3000)
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": f"{cpu}m", "memory": f"{cpu}Mi"}}}
        if self.ports and self.chance(0.4):
            container["ports"] = [{"containerPort": 80, "hostPort": 8080}]
        spec = {"template": {"spec": {"schedulerName": "koord-scheduler", "nodeSelector": {"world": self.prefix}, "priority": 0,
                                      "containers": [container]}},
                "ttl": "1h", "allocateOnce": self.once and self.chance(0.4), "owners": [{"object": {"namespace": self.prefix}, **self.owner()}]}
        labels, annotations = {"tier": self.pick("gold", "silver")}, {}
        # Of one policy in a world: others do not go together on a node.
        spec["allocatePolicy"] = self.pick("Aligned", "Restricted") if self.seed % 3 else "Restricted"
        if self.chance(0.2):
            labels[KEY + "reservation-order"] = str(self.random.randint(1, 9))
        if self.chance(0.2):
            spec["taints"] = [{"key": "team", "value": self.pick("a", "b"), "effect": self.pick("NoSchedule", "NoExecute", "PreferNoSchedule")}]
        if self.chance(0.1):
            spec["unschedulable"] = True
        if spec["allocatePolicy"] == "Restricted" and self.chance(0.3):
            annotations[KEY + "reservation-restricted-options"] = json.dumps({"resources": [self.pick("cpu", "memory")]})
        made = self.thing("Reservation", name, False, labels=labels, annotations=annotations, spec=spec)
        self.reservations.append((made, [0]))
        return [("create", made, None)]

    def owner(self):
        team = self.pick("a", "b")
        return self.pick({"labelSelector": {"matchLabels": {"team": team}}},
                         {"labelSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}},
                         {"labelSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": [team]}]}})

    def wish(self):
        """What a pod asks of reservations, as annotations and labels."""
        labels, annotations, affinity = {"team": self.pick("a", "b", "c")}, {}, {}
        if self.chance(0.15):
            labels[KEY + "reservation-ignored"] = "true"
        if self.chance(0.3):
            affinity["reservationSelector"] = {"tier": self.pick("gold", "silver")}
        if self.chance(0.2):
            operator, values = self.pick(("In", ["gold", "silver"]), ("NotIn", ["gold"]), ("Exists", None), ("DoesNotExist", None))
            rule = {"key": "tier", "operator": operator, **({"values": values} if values else {})}
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"reservationSelectorTerms": [{"matchExpressions": [rule]}]}
        if self.chance(0.2) and self.reservations:
            affinity["name"] = self.pick(*self.reservations)[0]["metadata"]["name"]
        if self.chance(0.3):
            affinity["tolerations"] = [{"key": "team", "operator": "Exists"}]
        if affinity or self.chance(0.2):
            annotations[KEY + "reservation-affinity"] = json.dumps(affinity)
        if self.chance(0.15):
            annotations[KEY + "exact-match-reservation"] = json.dumps({"resourceNames": self.pick(["cpu"], ["memory", "cpu"])})
        return labels, annotations

    def wisher(self):
        labels, annotations = self.wish()
        made = self.pod(self.name("w"), self.pick(300, 500, 1000), labels, 0)
        made[1]["metadata"]["annotations"] = annotations
        if self.ports and self.chance(0.3):
            made[1]["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
        return [made]

    def wishing_gang(self):
        labels, annotations = self.wish()
        name, minimum, cpu = self.name("g"), self.random.randint(1, 3), self.pick(300, 500, 1000)
        group = self.thing("PodGroup", name, spec={"minMember": minimum, "scheduleTimeoutSeconds": 600})
        self.gangs.append(group)
        members = [self.pod(f"{name}-{i}", cpu, {**labels, GANG: name}, 0) for i in range(minimum)]
        for _, pod, _ in members:
            pod["metadata"]["annotations"] = annotations
        return [("create", group, None)] + members

    def group(self):
        """Two gangs that are bound together."""
        names = [self.name("g"), self.name("g")]
        groups = json.dumps([f"{self.prefix}/{name}" for name in names])
        made = []
        for name in names:
            minimum, cpu = self.random.randint(1, 2), self.cpu()
            made.append(("create", self.thing("PodGroup", name, annotations={GANGS + "groups": groups},
                                              spec={"minMember": minimum, "scheduleTimeoutSeconds": 600}), None))
            made += [self.pod(f"{name}-{i}", cpu, {GANG: name}, 0) for i in range(minimum)]
        return made

    def change(self):
        """Of what a reservation says."""
        if not self.reservations:
            return self.ruled()
        made, _ = self.pick(*self.reservations)
        return [("patch", made, self.pick({"spec": {"unschedulable": True}}, {"spec": {"unschedulable": False}}, {"spec": {"taints": None}},
                                          {"metadata": {"labels": {"tier": self.pick("gold", "silver")}}},
                                          {"spec": {"owners": [{"object": {"namespace": self.prefix}, **self.owner()}]}}))]
