#!/usr/bin/env python3
"""Writes the reference pages of docs/reference from the code, or checks that they are current.

    reference.py [--check] [--programs FOLDER]

Metrics are read from the sources. Events stand in event_help.py and are compared with the sources. Flags, arguments,
configuration and names come from the programs (--help, describe_config), so these pages need --programs.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys

import event_help

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = os.path.join(ROOT, "docs", "reference")
PROGRAMS = ("koord-manager", "koord-scheduler", "koord-descheduler", "koordlet", "koord-device-daemon", "koord-runtime-proxy")
MADE = "<!-- Made by scripts/reference.py (make reference); changes here are lost. -->\n"
# Prefixes that a folder's own helpers put before the names of its metrics.
METRIC_PREFIX = {"src/koordlet/metrics/": "koordlet_", "src/runtimeproxy/": "koord_runtime_proxy_"}


def sources():
    for pattern in ("src/**/*.h", "src/**/*.cc", "cmd/**/*.cc"):
        for path in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True)):
            if not path.endswith("_test.cc") and "testing" not in path:
                with open(path) as file:
                    yield os.path.relpath(path, ROOT), file.read()


def literal(text):
    """C++ string literals that stand one after the other, as one text."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace('\\"', '"')


# How a folder defines metrics: by families of prometheus-cpp, by one table, or by the text of the page itself.
FAMILY = re.compile(r'\b(counter|gauge|histogram)(?:Family)?\(\s*[\w.>-]+,\s*(?:named\()?("[a-z_]+")\)?,\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)')
SERIES = re.compile(r'SeriesByName \w+\{\w+,\s*"[a-z]+",\s*("[a-z_]+"),\s*("[^"]+"),\s*("[a-z_]+"),\s*("[^"]+")\}')
TYPED = re.compile(r'\bmetric\(("[a-z_]+"), ("(?:counter|gauge)"),\s*("[^"]+")\)')
POD_AMOUNTS = re.compile(r'addMetric\(out, scheduler, ("[a-z_]+"),\s*("[^"]+"),')
LITERALS = re.compile(r'(?:"(?:[^"\\]|\\.)*"\s*)+')
EXPOSED = re.compile(r'# HELP ([a-z_]+) (.*?)\\n# TYPE \1 (counter|gauge|histogram)')


def metrics_of(path, text):
    """(name, type, help) of the metrics that a source defines."""
    prefix = next((p for folder, p in METRIC_PREFIX.items() if path.startswith(folder)), "")
    for kind, name, help_ in FAMILY.findall(text):
        yield prefix + literal(name), kind, literal(help_)
    for calls, help_, times, times_help in SERIES.findall(text):
        yield prefix + literal(calls), "counter", literal(help_)
        yield prefix + literal(times), "histogram", literal(times_help)
    for name, kind, help_ in TYPED.findall(text):
        yield literal(name), literal(kind), literal(help_)
    for name, help_ in POD_AMOUNTS.findall(text):
        yield literal(name), "gauge", literal(help_)
    for literals in LITERALS.findall(text):
        for name, help_, kind in EXPOSED.findall(literal(literals)):
            yield name, kind, help_


def metrics_page():
    rows = {name: (kind, help_) for path, text in sources() for name, kind, help_ in metrics_of(path, text)}
    lines = ["# Metrics", "", MADE, "The metrics of all programs. Those of upstream have its names and help texts. "
             "[Observability](../observability.md) says where to scrape them.", "", "| name | type | meaning |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {kind} | {text} |" for name, (kind, text) in sorted(rows.items())]
    return "\n".join(lines) + "\n", set(rows)


# Names that belong to Koordinator, to gangs, or to devices. Kubernetes' own names count if a constant says what they are.
NAME = re.compile(r'"((?:[a-z0-9-]+\.)*(?:koordinator\.sh|pod-group\.scheduling\.sigs\.k8s\.io|kwok\.x-k8s\.io|hami\.io|'
                  r'(?:amd|cambricon|dcu|huawei|metax-tech|nvidia)\.com)/[A-Za-z0-9._-]+|'
                  r'kubernetes\.io/(?:batch|mid|gpu|rdma|fpga)(?:-[a-z-]+)?|koordinator\.sh/[a-z.-]+)"')
NAME_CONSTANT = re.compile(r'constexpr std::string_view\s+k(?:Label|Annotation)\w*\s*=\s*"([^"]+)"')
SLASHED_CONSTANT = re.compile(r'inline constexpr std::string_view\s+k\w+\s*=\s*"([a-z0-9.-]+/[A-Za-z0-9._-]+)"')
NOT_A_NAME = re.compile(r'.*/v\d\w*|application/.*|.*\.')  # API versions, media types, prefixes
NAME_TABLES = "src/model/name_help"


def names_in_sources():
    """Returns {name: {files}}, and all quoted texts, which names of Kubernetes may be among."""
    names, texts = {}, set()
    for path, text in sources():
        if path.startswith((NAME_TABLES, "src/cel/")):  # CEL has patterns of labels, and no labels
            continue
        texts.update(re.findall(r'"([^"\\\n]+)"', text))
        for pattern in (NAME, NAME_CONSTANT, SLASHED_CONSTANT):
            for name in pattern.findall(text):
                if not NOT_A_NAME.fullmatch(name):
                    names.setdefault(name, set()).add(path)
    return names, texts


def check_names(described):
    found, texts = names_in_sources()
    explained = {one["name"] for group in described for one in group["names"]}
    problems = [f"{name}: no entry in {NAME_TABLES}_*.cc; used in {', '.join(sorted(files))}"
                for name, files in sorted(found.items()) if name not in explained]
    problems += [f"{name}: {NAME_TABLES}_*.cc explains it, and no source names it"
                 for name in sorted(explained) if name not in found and name not in texts]
    if problems:
        sys.exit("\n".join(problems))


def code(text):
    return f"`{cell(text)}`" if text else ""


def names_page(described):
    check_names(described)
    lines = ["# Labels, annotations and resources", "", MADE, "What the names mean that the programs read and write. Users set the "
             "names that are set by *user*; the other names are for reading. A value that cannot be read does not count, and most "
             "are reported as an event ([Events](events.md)).", ""]
    for group in described:
        lines += [f"## {group['title']}", "", "| name | meaning | kind | set by | type | default | values | example |",
                  "| --- | --- | --- | --- | --- | --- | --- | --- |"]
        lines += ["| " + " | ".join((f"`{one['name']}`", cell(one["meaning"]), f"{one['kind']} of {one['on']}", one["writer"],
                                     f"{one['format']}, {one['unit']}" if one["unit"] else one["format"], cell(one["absent"]),
                                     cell(one["values"]), code(one["example"]))) + " |"
                  for one in group["names"]]
        lines.append("")
    return "\n".join(lines)


def events_page():
    problems, _ = event_help.compare(list(sources()))
    if problems:
        sys.exit("\n".join(problems))
    lines = ["# Events", "", MADE, "Every event that the programs write. `kubectl events -A` shows them; repeats raise the count of one "
             "event. Events of `koordctl` come from the controllers and the host node of `koordctl up`; a real cluster has those "
             "of Kubernetes.", ""]
    for program in event_help.PROGRAMS:
        lines += [f"## {program}", "", "| reason | type | object | when | what to do |", "| --- | --- | --- | --- | --- |"]
        lines += [f"| {event.reason} | {event.type} | {event.object} | {cell(event.when)} | {cell(event.action)} |"
                  for event in sorted(event_help.EVENTS) if event.program == program]
        lines.append("")
    return "\n".join(lines)


def cell(text):
    return text.replace("|", "\\|")


def range_of(field):
    if field["range"]:
        return field["range"]
    low, high = field.get("low"), field.get("high")
    low = None if low is not None and low <= -(1 << 62) else low
    high = None if high is not None and high >= (1 << 31) - 1 else high
    if low is None and high is None:
        return ""
    if high is None:
        return f"from {low}"
    return f"up to {high}" if low is None else f"{low} to {high}"


def fields_table(fields):
    lines = ["| field | type | default | range | unit | meaning | example |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for field in fields:
        default, example = (f"`{field[key]}`" if field[key] else "" for key in ("default", "example"))
        lines.append(f"| `{field['path']}` | {field['type']} | {cell(default)} | {range_of(field)} | {field['unit']} | "
                     f"{cell(field['help'])} | {cell(example)} |")
    return lines


def arguments_page(described):
    lines = ["# Arguments of plugins", "", MADE, "Every field of every plugin's arguments. `[]` stands for the entries of a list, "
             "`*` for the keys of a map. A field that is not given has its default. Unknown fields are errors.", ""]
    for program, objects in described.items():
        lines += [f"## {program}", ""]
        for plugin in objects:
            lines += [f"### {plugin['name']}", ""]
            if plugin["kind"]:
                lines += [f"`kind: {plugin['kind']}`, `apiVersion: {plugin['version']}`.", ""]
            lines += fields_table(plugin["fields"]) if plugin["fields"] else ["No arguments."]
            lines.append("")
    return "\n".join(lines)


# What stands above the table of a key of slo-controller-config.
SLO_KEYS = {
    "colocation-config": "How much of a node is offered to batch and mid pods. The fields stand at the top; `nodeConfigs` is a "
                         "list of `{name, nodeSelector, FIELDS}` that override them for some nodes, the first match counts.",
    "resource-threshold-config": "When koordlet suppresses and evicts BE pods. The fields stand in `clusterStrategy`; "
                                 "`nodeStrategies` is a list of `{name, nodeSelector, FIELDS}`.",
    "resource-qos-config": "What koordlet sets for the pods of a QoS class. `clusterStrategy` has `policies` (`cpuPolicy`: "
                           "`groupIdentity`, the default, or `coreSched`; `netQOSPolicy`: `tc`, the default, or `terway-qos`) and "
                           "the classes `lsrClass` (pods of LSE and LSR), `lsClass`, `beClass`, `systemClass` and `cgroupRoot`, "
                           "each with the fields below. Defaults hold once `enable` is true. `nodeStrategies` is a list of "
                           "`{name, nodeSelector, CLASSES}`.",
    "cpu-burst-config": "Bursts of throttled containers. The fields stand in `clusterStrategy`; `nodeStrategies` is a list of "
                        "`{name, nodeSelector, FIELDS}`.",
    "system-config": "Kernel settings of nodes. The fields stand in `clusterStrategy`; `nodeStrategies` is a list of "
                     "`{name, nodeSelector, FIELDS}`.",
    "host-application-config": "Programs outside of Kubernetes. `nodeConfigs` is a list of `{name, nodeSelector, applications}`.",
    "cpu-normalization-config": "How much faster a CPU model is than the slowest. `nodeConfigs` is a list of `{name, "
                                "nodeSelector, FIELDS}`.",
    "resource-amplification-config": "How much more of a node is offered than it has. `nodeConfigs` is a list of `{name, "
                                     "nodeSelector, FIELDS}`.",
}


def slo_page(sections):
    lines = ["# slo-controller-config", "", MADE, "The keys of the ConfigMap `slo-controller-config` in the namespace "
             "`koordinator-system`. Each value is a JSON document. koord-manager watches the ConfigMap, reports what it cannot "
             "use as an event of the ConfigMap, and keeps the last usable value of that key. With the gate "
             "`ConfigMapValidatingWebhook` its webhook refuses values out of range. koordlet receives its part as the NodeSLO "
             "object of its node.", ""]
    for section in sections:
        lines += [f"## {section['name']}", "", SLO_KEYS[section["name"]], "", *fields_table(section["fields"]), ""]
    return "\n".join(lines)


def described_pages(programs):
    """Pages made from what the readers of configuration say of themselves."""
    run = subprocess.run([os.path.join(programs, "describe_config")], capture_output=True, text=True, check=True)
    described = json.loads(run.stdout)
    return {"plugin-arguments.md": arguments_page(described["plugins"]), "slo-controller-config.md": slo_page(described["slo"]),
            "names.md": names_page(described["names"])}


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
    pages = {"metrics.md": metrics, "events.md": events_page()}
    for name in PROGRAMS if options.programs else ():
        pages[f"{name}.md"] = flags_page(os.path.join(options.programs, name))
    if options.programs:
        pages.update(described_pages(options.programs))
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
