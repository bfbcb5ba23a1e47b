#!/usr/bin/env python3
"""Writes the reference pages of docs/reference from the code, or checks that they are current.

    reference.py [--check] [--programs FOLDER]

Names of labels, annotations and resources, metrics and events are read from the sources; flags from what the
programs say with --help, so these pages need the programs.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = os.path.join(ROOT, "docs", "reference")
PROGRAMS = ("koord-manager", "koord-scheduler", "koord-descheduler", "koordlet", "koord-device-daemon", "koord-runtime-proxy")
MADE = "<!-- Made by scripts/reference.py (make reference); changes here are lost. -->\n"
# Prefixes that a folder's own helpers put before the names of its metrics.
METRIC_PREFIX = {"src/koordlet/metrics/": "koordlet_"}


def sources():
    for pattern in ("src/**/*.h", "src/**/*.cc", "cmd/**/*.cc"):
        for path in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True)):
            if not path.endswith("_test.cc") and "testing" not in path:
                with open(path) as file:
                    yield os.path.relpath(path, ROOT), file.read()


def literal(text):
    """C++ string literals that stand one after the other, as one text."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"')


def metrics_page():
    pattern = re.compile(r'\b(counter|gauge|histogram)(?:Family)?\(\s*[\w.>-]+,\s*("[a-z_]+"),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)')
    rows = {}
    for path, text in sources():
        prefix = next((p for folder, p in METRIC_PREFIX.items() if path.startswith(folder)), "")
        for kind, name, help_ in pattern.findall(text):
            rows[prefix + literal(name)] = (kind, literal(help_))
    lines = ["# Metrics", "", MADE, "What Prometheus finds beside the metrics of the process and of the API client "
             "(docs/observability.md).", "", "| name | type | what |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {kind} | {text} |" for name, (kind, text) in sorted(rows.items())]
    return "\n".join(lines) + "\n", set(rows)


def names_page():
    pattern = re.compile(r'inline constexpr std::string_view\s+(k(?:Label|Annotation)?\w*)\s*=\s*("[^"]+");')
    groups = {"Label": {}, "Annotation": {}, "": {}}
    for path, text in sources():
        for name, value in pattern.findall(text):
            value = literal(value)
            if not re.fullmatch(r"[a-z0-9.-]+/[A-Za-z0-9._-]+", value):
                continue
            kind = "Label" if name.startswith("kLabel") else "Annotation" if name.startswith("kAnnotation") else ""
            groups[kind].setdefault(value, set()).add(path.split("/")[1])
    known = set(groups["Label"]) | set(groups["Annotation"])
    lines = ["# Labels, annotations and resources", "", MADE]
    for kind, title in (("Label", "Labels"), ("Annotation", "Annotations"), ("", "Resources and other names")):
        lines += [f"## {title}", "", "| name | used by |", "| --- | --- |"]
        lines += [f"| `{name}` | {', '.join(sorted(who))} |" for name, who in sorted(groups[kind].items())
                  if kind or name not in known]
        lines.append("")
    return "\n".join(lines)


def events_page():
    pattern = re.compile(r'"(Normal|Warning)",\s*"([A-Z][\w-]+)"')
    rows = {}
    for path, text in sources():
        for kind, reason in pattern.findall(text):
            rows.setdefault((reason, kind), set()).add(path.split("/")[1])
    lines = ["# Events", "", MADE, "| reason | type | written by |", "| --- | --- | --- |"]
    lines += [f"| {reason} | {kind} | {', '.join(sorted(who))} |" for (reason, kind), who in sorted(rows.items())]
    return "\n".join(lines) + "\n"


def flags_page(program):
    said = subprocess.run([program, "--help"], capture_output=True, text=True)
    name = os.path.basename(program)
    # The host's name and the like have no place in it.
    return f"# Flags of {name}\n\n{MADE}\n```\n{(said.stdout or said.stderr).rstrip()}\n```\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--programs", help="folder of the built programs; without it flags are left alone")
    options = parser.parse_args()
    metrics, names = metrics_page()
    pages = {"metrics.md": metrics, "names.md": names_page(), "events.md": events_page()}
    for name in PROGRAMS if options.programs else ():
        pages[f"{name}.md"] = flags_page(os.path.join(options.programs, name))
    wrong = []
    for name, text in pages.items():
        path = os.path.join(PAGES, name)
        current = open(path).read() if os.path.exists(path) else ""
        if current == text:
            continue
        wrong.append(name)
        if not options.check:
            os.makedirs(PAGES, exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
    with open(os.path.join(ROOT, "deploy", "grafana", "koordinator.json")) as file:
        dashboard = json.load(file)
    shown = " ".join(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])
    for name in sorted(set(re.findall(r"\b(?:slo_controller|koord\w*|scheduler|workqueue)_\w+", shown))):
        if re.sub(r"_(bucket|count|sum)$", "", name) not in names and name not in names:
            sys.exit(f"deploy/grafana/koordinator.json: there is no metric {name}")
    if options.check and wrong:
        sys.exit(f"docs/reference is not current: {', '.join(wrong)}; run `make reference`")


if __name__ == "__main__":
    main()
