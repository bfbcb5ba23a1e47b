"""Differences of decisions about reservations that are meant (docs/differences.md, Reservations)."""

import ast
import json

from job_objects import GIVEN
from so_far import annotation_of, made, requests

ORDER = GIVEN + "reservation-order"
WEIGHT = 5000  # of the plugin Reservation among the scores


def tables_of(found):
    """The scores of both, by node; {} without any."""
    text = found.get("scores") or found.get("node") or ""
    return [ast.literal_eval(table) for table in text.split(" but ")] if text.startswith("{") else [{}, {}]


def differing(tables):
    one, other = tables
    return {node for node in one.keys() | other.keys() if one.get(node) != other.get(node)}


def chosen(decision):
    return next(iter(decision["each"].values()))["node"]


def best(table):
    return {node for node, score in table.items() if score == max(table.values())}


def held(world, reservation):
    return requests(world, reservation["metadata"]["name"])


def left_out(reservation):
    """Resources that the reservation holds and does not restrict: upstream does not subtract what owners use of them."""
    restricted = json.loads(reservation["metadata"].get("annotations", {}).get(GIVEN + "reservation-restricted-options", "{}")).get("resources")
    if reservation["spec"].get("allocatePolicy") != "Restricted" or not restricted:
        return set()
    return {"cpu", "memory"} - set(restricted)


def shared(so_far):
    """Reservations that have owners and take more: (object, node, what owners ask for)."""
    used = [(item, node, so_far.used(item["metadata"]["name"])) for item, node in so_far.reservations()]
    return [each for each in used if not each[0]["spec"].get("allocateOnce", True)]  # others are gone with their first owner


def beside_owners(world, found, one, other, so_far):
    """Whether scores differ on nodes where owners ask for more than their reservation holds, or use what it does not restrict, or, in
    whole points of the plugin, beside the latter; and each scheduler took the best node by its own scores."""
    if not set(found) <= {"node", "scores"} or "scores" not in found:
        return False
    tables = tables_of(found)
    owned = shared(so_far)
    fuller = {node for item, node, used in owned if left_out(item) & used.keys()}
    beyond = {node for item, node, used in owned if any(amount > held(world, item).get(resource, 0) for resource, amount in used.items())}
    points = {node for node in differing(tables) if (tables[0].get(node, 0) - tables[1].get(node, 0)) % WEIGHT == 0}
    explained = fuller | beyond | (points if fuller & tables[0].keys() else set())
    return differing(tables) <= explained and all(chosen(each) in best(table) for each, table in zip((one, other), tables))


def beside_fuller(found, one, other, so_far):
    """Whether a gang went elsewhere, and one of the reservations that it got is fuller than upstream counts."""
    taken = {outcome.get("reservation") for decision in (one, other) for outcome in decision["each"].values()}
    return set(found) == {"node"} and any(left_out(item) & used.keys() and item["metadata"]["name"] in taken for item, _, used in shared(so_far))


def chosen_reservations(world, found, one, other):
    """The two reservations of one node of which each scheduler chose another; None if that is not the difference."""
    if set(found) != {"reservation"}:
        return None
    names = [next(iter(each["each"].values()))["reservation"] for each in (one, other)]
    return [made(world, name) for name in names] if all(names) else None


def fuller(world, found, one, other, so_far):
    """Whether upstream did not count what owners use of a reservation, and so took it for less full."""
    pair = chosen_reservations(world, found, one, other)
    if not pair:
        return False
    return any(left_out(each) & so_far.used(each["metadata"]["name"]).keys() for each in pair)


def of_one_rank(world, found, one, other, so_far):
    """Whether the two have the same order, or none and are equally full afterwards, so that upstream takes either."""
    pair = chosen_reservations(world, found, one, other)
    if not pair:
        return False
    orders = {each["metadata"]["labels"].get(ORDER) for each in pair}
    asked = requests(world, next(iter(one["each"])))
    used = [so_far.used(each["metadata"]["name"]) for each in pair]
    full = [{key: (asked.get(key, 0) + mine.get(key, 0)) / amount for key, amount in held(world, each).items()} for each, mine in zip(pair, used)]
    return len(orders) == 1 and (None not in orders or full[0] == full[1])


def beside_orders(world, found, one, other, so_far):
    """Whether the two took nodes with an order, ours not one with a higher order, and scores differ by whole points of the plugin because
    of that: of nodes with an order in either way, of others down."""
    if not set(found) <= {"node", "scores"} or "scores" not in found:
        return False
    tables, orders = tables_of(found), {}
    for reservation, node in so_far.reservations():
        order = int(reservation["metadata"]["labels"].get(ORDER, 0))
        if order:
            orders[node] = min(order, orders.get(node, order))
    nodes = [chosen(each) for each in (one, other)]
    if not set(nodes) <= orders.keys() or orders[nodes[1]] > orders[nodes[0]]:
        return False
    more = {node: tables[1].get(node, 0) - tables[0].get(node, 0) for node in differing(tables)}
    return all(points % WEIGHT == 0 and (node in orders or points < 0) for node, points in more.items())


def ignores_what_it_names(world, found, one, other, so_far):
    """Whether the pod ignores reservations and names one, to whose node upstream keeps it."""
    name = next(iter(one["each"]))
    named = annotation_of(world, name, "reservation-affinity").get("name")
    if not named or made(world, name)["metadata"]["labels"].get(GIVEN + "reservation-ignored") != "true" or not chosen(other):
        return False
    there = so_far.placed.get(named)
    return set(found) <= {"node", "scores", "place"} and bool(there) and chosen(one) in (there["node"], None)
