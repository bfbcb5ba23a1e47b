#!/usr/bin/env python3
"""Draws docs/pictures/*.svg from data and formulas.

    scripts/pictures.py            write all pictures
    scripts/pictures.py --check    exit 1 if a picture in the tree differs from what this script draws

A picture is a function in PICTURES that returns the SVG text. Add a function, name it in the table, run the script.
"""

import argparse
import math
import pathlib
import re
import sys
from xml.sax.saxutils import escape

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs" / "pictures"

INK, MUTED, GRID = "#1f2933", "#52606d", "#e4e7eb"
BLUE, GREEN, ORANGE, GREY, RED = "#2f6fb0", "#3c9d5b", "#d9822b", "#9aa5b1", "#c0392b"
PAPER, PALE, AMBER = "#1b222c", "#cbd2d9", "#f0b860"  # a terminal


class Svg:
    """An SVG document; y grows downwards, as in the format."""

    def __init__(self, width, height, title):
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' font-family="DejaVu Sans, Helvetica, Arial, sans-serif" role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        ]

    def text(self, x, y, words, size=12, colour=INK, anchor="start", weight="normal"):
        self.lines.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"'
                          f' font-weight="{weight}">{escape(words)}</text>')

    def line(self, x1, y1, x2, y2, colour=INK, width=1.0, dash=""):
        extra = f' stroke-dasharray="{dash}"' if dash else ""
        self.lines.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"'
                          f' stroke-width="{width}"{extra}/>')

    def path(self, points, stroke="none", fill="none", width=1.5, opacity=1.0, closed=False):
        steps = " L ".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self.lines.append(f'<path d="M {steps}{" Z" if closed else ""}" stroke="{stroke}" stroke-width="{width}"'
                          f' fill="{fill}" fill-opacity="{opacity}"/>')

    def rect(self, x, y, width, height, fill, opacity=1.0, stroke="none"):
        self.lines.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"'
                          f' fill-opacity="{opacity}" stroke="{stroke}"/>')

    def bracket(self, x, top, bottom, colour):
        self.path([(x, top), (x + 6, top), (x + 6, bottom), (x, bottom)], stroke=colour)

    def done(self):
        return "\n".join(self.lines + ["</svg>"]) + "\n"


class Chart:
    """A plane with axes inside an Svg."""

    def __init__(self, svg, left, top, width, height, most_x, most_y):
        self.svg, self.left, self.top, self.width, self.height = svg, left, top, width, height
        self.most_x, self.most_y = most_x, most_y

    def x(self, value):
        return self.left + self.width * value / self.most_x

    def y(self, value):
        return self.top + self.height * (1 - value / self.most_y)

    def axes(self, ticks_x, ticks_y, name_x, name_y):
        for value in ticks_y:
            self.svg.line(self.left, self.y(value), self.left + self.width, self.y(value), GRID)
            self.svg.text(self.left - 6, self.y(value) + 4, f"{value}", 11, MUTED, "end")
        for value in ticks_x:
            self.svg.text(self.x(value), self.top + self.height + 16, f"{value}", 11, MUTED, "middle")
        self.svg.text(self.left + self.width / 2, self.top + self.height + 34, name_x, 11, MUTED, "middle")
        self.svg.text(self.left - 34, self.top - 10, name_y, 11, MUTED)

    def frame(self):
        self.svg.line(self.left, self.top, self.left, self.top + self.height)
        self.svg.line(self.left, self.top + self.height, self.left + self.width, self.top + self.height)

    def area(self, xs, low, high, fill, opacity):
        points = [(self.x(x), self.y(y)) for x, y in zip(xs, high)]
        points += [(self.x(x), self.y(y)) for x, y in reversed(list(zip(xs, low)))]
        self.svg.path(points, fill=fill, opacity=opacity, closed=True)

    def curve(self, xs, ys, colour, width=1.8):
        self.svg.path([(self.x(x), self.y(y)) for x, y in zip(xs, ys)], stroke=colour, width=width)

    def level(self, value, colour, dash="6 4"):
        self.svg.line(self.left, self.y(value), self.left + self.width, self.y(value), colour, 1.4, dash)


def resource_model():
    """One node over a day: what is requested, used, offered as batch-cpu and as mid-cpu."""
    capacity, requested, reclaim_percent, system = 16.0, 12.0, 60, 0.8
    hours = [i / 4 for i in range(24 * 4 + 1)]
    used = [3.4 + 2.2 * math.sin((h - 9) * math.pi / 12) + 0.6 * math.sin(h * 2.1) for h in hours]
    peak = system + max(used) * 1.1  # koordlet adds a safety margin of 10 % to the peak of the pods
    ceiling = capacity * reclaim_percent / 100

    svg = Svg(780, 420, "Capacity, requests, usage, batch-cpu and mid-cpu of one node over a day")
    chart = Chart(svg, 50, 30, 470, 320, 24, capacity)
    chart.axes(range(0, 25, 4), range(0, 17, 2), "hour of the day", "CPU cores")
    low = [0.0] * len(hours)
    base = [system] * len(hours)
    top = [system + u for u in used]
    chart.area(hours, low, base, GREY, 0.8)
    chart.area(hours, base, top, BLUE, 0.55)
    chart.area(hours, top, [ceiling] * len(hours), GREEN, 0.45)
    chart.area(hours, [ceiling] * len(hours), [capacity] * len(hours), GREY, 0.15)
    chart.curve(hours, top, BLUE)
    chart.level(requested, INK)
    chart.level(peak, ORANGE)
    chart.level(ceiling, GREEN)
    chart.frame()

    right = 530
    svg.text(right, chart.y(capacity) + 4, "capacity: 16 cores", 12)
    svg.text(right, chart.y(requested) + 4, "requested by prod pods: 12", 12)
    svg.bracket(right, chart.y(requested) + 10, chart.y(peak) - 6, ORANGE)
    middle = (chart.y(requested) + chart.y(peak)) / 2
    svg.text(right + 14, middle - 6, "mid-cpu: requested, and by", 12, ORANGE, weight="bold")
    svg.text(right + 14, middle + 9, "prediction not needed", 12, ORANGE, weight="bold")
    svg.text(right, chart.y(peak) + 12, f"predicted peak with system: {peak:.1f}", 12, ORANGE)
    svg.text(right, chart.y(14) + 10, "margin: 40 % of the capacity", 12, MUTED)
    svg.text(right, chart.y(4.7), "batch-cpu: idle now, below", 12, GREEN, weight="bold")
    svg.text(right, chart.y(4.7) + 15, "cpuReclaimThresholdPercent (60)", 12, GREEN, weight="bold")
    svg.text(right, chart.y(1.9), "used by prod pods", 12, BLUE)
    svg.text(right, chart.y(0.3), "used by the system", 12, MUTED)
    svg.text(50, 408, "batch-cpu = capacity x 60 % - usage of the system - usage of prod and mid pods, recomputed"
                      " with each report of koordlet", 11, MUTED)
    return svg.done()


def usage_spike():
    """What CPU suppress allows BE pods before, during and after a spike of a latency-sensitive pod."""
    capacity, percent, system = 16.0, 65, 0.5
    seconds = list(range(0, 61))
    used = [7.5 if 15 <= s < 35 else 2.0 for s in seconds]
    allowed, now = [], capacity * percent / 100 - system - used[0]
    for demand in used:
        budget = capacity * percent / 100 - system - demand
        now = budget if budget < now else min(budget, now + capacity * 0.1)
        allowed.append(now)

    svg = Svg(760, 360, "CPU of BE pods during a spike of a latency-sensitive pod")
    chart = Chart(svg, 50, 30, 470, 260, 60, capacity)
    chart.axes(range(0, 61, 10), range(0, 17, 4), "seconds", "CPU cores")
    stairs_x, stairs_used, stairs_sum = [], [], []
    for second, demand, share in zip(seconds, used, allowed):
        stairs_x += [second, min(second + 1, 60)]
        stairs_used += [demand + system] * 2
        stairs_sum += [demand + system + share] * 2
    chart.area(stairs_x, [0.0] * len(stairs_x), stairs_used, BLUE, 0.55)
    chart.area(stairs_x, stairs_used, stairs_sum, GREEN, 0.45)
    chart.level(capacity * percent / 100, RED)
    chart.frame()
    right = 530
    svg.text(right, chart.y(capacity * percent / 100) - 2, "cpuSuppressThresholdPercent", 12, RED)
    svg.text(right, chart.y(capacity * percent / 100) + 13, "65 % of 16 cores = 10.4", 12, RED)
    svg.text(right, chart.y(6.3), "BE pods may use this:", 12, GREEN, weight="bold")
    svg.text(right, chart.y(6.3) + 15, "shrinks in the same second,", 12, GREEN)
    svg.text(right, chart.y(6.3) + 30, "grows by 1.6 cores a second", 12, GREEN)
    svg.text(right, chart.y(1.0), "LS pods and the system", 12, BLUE)
    svg.text(50, 348, "budget = capacity x threshold - usage of pods that are not BE - usage of the system", 11, MUTED)
    return svg.done()


def memory_qos():
    """Where memory.min, memory.low and memory.high of one container are."""
    request, limit, least, low_share, throttling = 2.0, 4.0, 50, 60, 80
    marks = [(request * least / 100, "memory.min", "request x minLimitPercent (50)", BLUE),
             (request * low_share / 100, "memory.low", "request x lowLimitPercent (60)", GREEN),
             (request, "request", "", INK),
             (request + (limit - request) * throttling / 100, "memory.high",
              "request + (limit - request) x throttlingPercent (80)", ORANGE),
             (limit, "limit", "", RED)]

    svg = Svg(780, 250, "memory.min, memory.low and memory.high of a container with a request of 2 GiB and a limit of 4 GiB")
    left, width, top, height = 30, 700, 70, 40

    def x(gib):
        return left + width * gib / (limit * 1.05)

    ends = [0.0] + [mark[0] for mark in marks[:2]] + [marks[3][0], limit]
    parts = [("never reclaimed", BLUE, 0.6), ("", GREEN, 0.5), ("reclaimed under pressure", GREY, 0.25),
             ("throttled", ORANGE, 0.5)]
    for (words, colour, opacity), begin, end in zip(parts, ends, ends[1:]):
        svg.rect(x(begin), top, x(end) - x(begin), height, colour, opacity)
        middle = (x(max(begin, request)) if begin < request < end else x(begin)) + x(end)
        svg.text(middle / 2, top + height / 2 + 4, words, 11, INK, "middle")
    for number, (gib, name, rule, colour) in enumerate(marks):
        svg.line(x(gib), top - 8, x(gib), top + height + 8 + 22 * number, colour, 1.4)
        svg.text(x(gib) - 6, top + height + 20 + 22 * number, f"{name} {gib:.1f} GiB" + (f" = {rule}" if rule else ""), 11,
                 colour, "end" if gib > limit / 2 else "start")
        if gib <= limit / 2:
            svg.lines[-1] = svg.lines[-1].replace(f'x="{x(gib) - 6:.1f}"', f'x="{x(gib) + 6:.1f}"')
    svg.text(left, 30, "A container with a request of 2 GiB and a limit of 4 GiB", 13, INK, weight="bold")
    svg.text(left, 50, "between memory.min and memory.low: reclaimed only if nothing else is left", 11, MUTED)
    return svg.done()


def cpu_burst():
    """The quota of a container that needs more than its limit, and how it follows the share pool."""
    limit, most_percent, need = 1.0, 300, 2.2
    seconds = list(range(0, 31))
    pool = ["idle" if s < 12 else "cooling" if s < 15 else "overload" if s < 22 else "idle" for s in seconds]
    wants = [need if 3 <= s < 27 else 0.6 for s in seconds]
    quota, now = [], limit
    for want, state in zip(wants, pool):
        throttled = want > now
        if state == "overload":
            now *= 0.8
        elif throttled and state == "idle":
            now *= 1.2
        now = min(max(now, limit), limit * most_percent / 100)
        quota.append(now)

    svg = Svg(780, 360, "CPU quota of a container during CPU burst")
    chart = Chart(svg, 50, 40, 470, 250, 30, 4)
    chart.axes(range(0, 31, 5), range(0, 5), "seconds", "CPU cores")
    for state, colour in (("cooling", ORANGE), ("overload", RED)):
        inside = [s for s, one in zip(seconds, pool) if one == state]
        svg.rect(chart.x(inside[0]), 40, chart.x(inside[-1] + 1) - chart.x(inside[0]), 250, colour, 0.12)
        svg.text(chart.x((inside[0] + inside[-1] + 1) / 2), 54, state, 11, colour, "middle")
    stairs_x, stairs_quota, stairs_use = [], [], []
    for second, want, allowed in zip(seconds, wants, quota):
        stairs_x += [second, min(second + 1, 30)]
        stairs_quota += [allowed] * 2
        stairs_use += [min(want, allowed)] * 2
    chart.area(stairs_x, [0.0] * len(stairs_x), stairs_use, BLUE, 0.5)
    chart.curve(stairs_x, stairs_quota, GREEN)
    chart.level(limit, INK)
    chart.level(limit * most_percent / 100, RED)
    chart.frame()
    right = 530
    svg.text(right, chart.y(3) + 4, "highest quota: 300 % of the limit", 12, RED)
    svg.text(right, chart.y(2.2), "quota, x 1.2 per second", 12, GREEN, weight="bold")
    svg.text(right, chart.y(2.2) + 15, "while throttled and idle,", 12, GREEN)
    svg.text(right, chart.y(2.2) + 30, "x 0.8 in overload", 12, GREEN)
    svg.text(right, chart.y(1) + 4, "limit: 1", 12)
    svg.text(right, chart.y(0.4), "CPU used", 12, BLUE)
    svg.text(50, 348, "cooling, overload: usage of the share pool from 90 % and from 100 % of sharePoolThresholdPercent", 11, MUTED)
    return svg.done()


def screen():
    """The terminal with `koordctl up --demo`, as scripts/record_screen.py recorded it."""
    rows = (FOLDER / "screen.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    step, left, top, size = 17, 16, 44, 12.5
    svg = Svg(int(left * 2 + max(map(len, rows)) * size * 0.602), top + step * len(rows) + 10, "The screen of koordctl up --demo")
    svg.lines[-1] = svg.lines[-1].replace("#ffffff", PAPER)
    for place, colour in enumerate((RED, ORANGE, GREEN)):
        svg.lines.append(f'<circle cx="{left + 6 + place * 18}" cy="16" r="5" fill="{colour}"/>')
    svg.text(left + 66, 20, "koordctl up --demo", 12, GREY)
    for place, row in enumerate(rows):
        head = row[:1] != " " and re.match(r"[A-Z][A-Z/-]+ |koordlet on", row)
        colour = AMBER if "CPU suppress" in row or row.lstrip().startswith("why:") else "#ffffff" if head else PALE
        svg.lines.append(f'<text x="{left}" y="{top + place * step}" font-size="{size}" fill="{colour}" xml:space="preserve"'
                         f' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace"'
                         f'{" font-weight=" + chr(34) + "bold" + chr(34) if head else ""}>{escape(row)}</text>')
    return svg.done()


PICTURES = {"resource-model": resource_model, "usage-spike": usage_spike, "memory-qos": memory_qos, "cpu-burst": cpu_burst,
            "screen": screen}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the files in the tree and write nothing")
    options = parser.parse_args()
    stale = []
    if not options.check:
        FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        path, text = FOLDER / f"{name}.svg", draw()
        if options.check:
            if not path.exists() or path.read_text() != text:
                stale.append(path.name)
        else:
            path.write_text(text)
    if stale:
        sys.exit(f"docs/pictures: {', '.join(stale)}: not as drawn; run scripts/pictures.py")


if __name__ == "__main__":
    main()
