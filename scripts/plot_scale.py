#!/usr/bin/env python3
"""Measures the scheduler's engine at growing numbers of nodes and draws docs/scale-*.svg.

usage: plot_scale.py [path of bench_scheduler]

Each size runs in a process of its own, since peak memory is the process's.
"""

import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = [100, 300, 1000, 3000, 10_000, 30_000, 100_000]
SERIES = {"OneClass": ("#1f6feb", "one class of pods"), "MixedClasses": ("#d1480f", "200 classes")}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 80, 150, 40, 50


def measure(bench):
    figures = {}
    for series in SERIES:
        for nodes in SIZES:
            pattern = f"^Scale/{series}/{nodes}Nodes$"
            out = subprocess.run([bench, "--filter", pattern], check=True, capture_output=True, text=True)
            print(out.stdout, end="", flush=True)
            figures[series, nodes] = json.loads(out.stdout)["metrics"]
    return figures


def ticks(low, high):
    return [10**e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def short(number):
    for limit, unit in ((1_000_000, "M"), (1000, "k")):
        if number >= limit:
            return f"{number / limit:g}{unit}"
    return f"{number:g}"


def draw(title, figures, metric):
    values = [f[metric] for f in figures.values()]
    marks = ticks(min(values), max(values))
    low, high = math.log10(marks[0]), math.log10(marks[-1])

    def x(nodes):
        span = math.log10(SIZES[-1]) - math.log10(SIZES[0])
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(nodes) - math.log10(SIZES[0])) / span

    def y(value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(value) - low) / (high - low)

    svg = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{title}</text>',
    ]
    for mark in marks:
        svg.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(mark):.1f}" y2="{y(mark):.1f}" stroke="#ddd"/>')
        svg.append(f'<text x="{LEFT - 8}" y="{y(mark) + 4:.1f}" text-anchor="end">{short(mark)}</text>')
    for nodes in SIZES:
        svg.append(f'<text x="{x(nodes):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{short(nodes)}</text>')
    svg.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">nodes</text>')
    for series, (color, label) in SERIES.items():
        points = [(x(n), y(figures[series, n][metric])) for n in SIZES]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        svg.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        svg += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{color}"/>' for px, py in points]
        svg.append(f'<text x="{points[-1][0] + 10:.1f}" y="{points[-1][1] + 4:.1f}" fill="{color}">{label}</text>')
    return "\n".join(svg + ["</svg>", ""])


def main():
    if len(sys.argv) > 2 or "--help" in sys.argv:
        print(__doc__)
        return 0 if "--help" in sys.argv else 2
    bench = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release/bin/bench_scheduler")
    figures = measure(bench)
    plots = {
        "scale-throughput.svg": draw("pods placed per second", figures, "pods_per_second"),
        "scale-memory.svg": draw("peak memory, MiB", figures, "peak_rss_mib"),
    }
    for name, text in plots.items():
        (ROOT / "docs" / name).write_text(text)
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
