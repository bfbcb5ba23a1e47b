"""What a world of decisions.py has in it: its objects by name, what they ask for, and who was placed where before a decision."""

import json
import re

from job_objects import GIVEN
from job_worlds import QUOTA

UNITS = {"": 1000, "m": 1, "Mi": 1000 << 20, "Gi": 1000 << 30}


def made(world, name):
    """The object of that name that comes to the world, or stands in it."""
    come = [item for step in world.steps for verb, item, _ in step if verb == "create"]
    return next(item for item in come + world.things if item["metadata"]["name"] == name)


def requests(world, name):
    """What a pod or reservation asks for: resource -> thousandths."""
    item = made(world, name)
    spec = item["spec"]["template"]["spec"] if item["kind"] == "Reservation" else item["spec"]
    sums = {}
    for container in spec.get("containers", []):
        for resource, text in container["resources"]["requests"].items():
            number, unit = re.fullmatch(r"(\d+)(m|Mi|Gi|)", text).groups()
            sums[resource] = sums.get(resource, 0) + int(number) * UNITS[unit]
    return sums


def quota_of(world, name):
    """None for a gang, whose name is that of its PodGroup, and for a pod without a quota."""
    return made(world, name)["metadata"]["labels"].get(QUOTA + "name")


def annotation_of(world, name, key):
    """The JSON in a scheduling annotation; {} without one."""
    return json.loads(made(world, name)["metadata"].get("annotations", {}).get(GIVEN + key, "{}"))


def alike(decision):
    """Whether these are members of gangs."""
    members = decision["each"]
    gangs = {outcome.get("gang") for outcome in members.values()}
    return len(members) > 1 and None not in gangs


def deleted_before(world, name):
    """The names of what steps delete before that of the newcomer."""
    gone = set()
    for step in world.steps:
        for verb, item, _ in step:
            if verb == "delete":
                gone.add(item["metadata"]["name"])
            elif item["metadata"]["name"] == name and verb == "create":
                return gone
    return gone


class SoFar:
    """Who is where, as the decisions before one of `name` had it, which are pairs of upstream's and ours; upstream's count."""

    def __init__(self, world, name, before):
        self.world = world
        self.placed = {}  # name -> outcome
        for one, _ in before:
            left = set(one["left"])
            self.placed = {each: outcome for each, outcome in self.placed.items() if each not in left and outcome.get("gang") not in left}
            self.placed |= {each: outcome for each, outcome in one["each"].items() if outcome["node"]}
        for each in deleted_before(world, name):
            self.placed.pop(each, None)

    def reservations(self):
        """Those that have a node: (object, node)."""
        found = [(made(self.world, name), outcome["node"]) for name, outcome in self.placed.items()]
        return [(item, node) for item, node in found if item["kind"] == "Reservation"]

    def used(self, reservation):
        """What the owners of a reservation ask for: resource -> thousandths."""
        sums = {}
        for name, outcome in self.placed.items():
            if outcome.get("reservation") == reservation:
                for resource, amount in requests(self.world, name).items():
                    sums[resource] = sums.get(resource, 0) + amount
        return sums
