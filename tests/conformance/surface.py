#!/usr/bin/env python3
"""Compares the names that upstream's programs answer to with those of this tree.

    tests/conformance/surface.py --upstream FOLDER    # a checkout of koordinator-sh/koordinator

What is compared: command-line flags, feature gates, fields of custom resources (by their path in the schema),
labels, annotations and resource names, keys of JSON in annotations and configurations, and metrics. Each name that
upstream has and this tree does not is printed with the file that has it, and the exit status is 1, unless DECIDED
below says why it is absent. docs/upgrade.md must name all that is in DECIDED. A name counts as present where it
stands as a whole word in src/, cmd/ or deploy/; that it also does something is for the tests to show. `make test`
does not run this: it needs upstream's source.
"""

import argparse
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRDS = "config/crd/bases"
UPGRADE = "docs/upgrade.md"

# Absent on purpose, by name: the reason.
IN_PROCESS = "a key of state within upstream's process that no object ever has"
HOOKS = "a field of hookPlugins, which names Go code that is compiled into the program; the list must be empty"
DECIDED: dict[str, str] = {
    "gang.scheduling.koordinator.sh/timeout": "a constant that nothing in upstream reads or writes",
    "scheduling.koordinator.sh/topology-key-to-explain": "has a reader in upstream's API package that nobody calls",
    "descheduler.koordinator.sh/pod-arbitrating": IN_PROCESS,
    "scheduler.scheduling.koordinator.sh/initialTimestamp": IN_PROCESS,
    "scheduler.scheduling.koordinator.sh/attempts": IN_PROCESS,
    "scheduling.koordinator.sh/nominated-pods-to-ignore": IN_PROCESS,
    "scheduling.koordinator.sh/scheduling-phase": IN_PROCESS,
    "koordinator.sh/topology-affinity-store": IN_PROCESS,
    "elastic_quota_hook_plugin_latency":
        "times hook plugins that are compiled into upstream's scheduler; there are none, here or there",
    "factoryKey": HOOKS,
    "factoryArgs": HOOKS,
}

WORD = r"[A-Za-z0-9][A-Za-z0-9._/-]*[A-Za-z0-9]"
FLAG = re.compile(r'\b(?:fs|flags?|pflag|flagset|f|set)\.(?:[A-Z]\w*)\(\s*(?:&?[\w.()*]+,\s*)?"([a-z][a-z0-9-]+)"', re.S)
CLI_FLAG = re.compile(r'\bcli\.\w+Flag\{\s*Name:\s*"([a-z][a-z0-9-]+)"')
KEY = re.compile(r'`[^`]*\bjson:"([A-Za-z][\w.-]+)')
# Go types of what stands in annotations, in slo-controller-config and in configuration files.
KEYED = ("apis/extension", "apis/configuration", "apis/slo/v1alpha1", "pkg/scheduler/apis/config",
         "pkg/descheduler/apis/config", "cmd/koord-device-daemon")
GATE = re.compile(r'featuregate\.Feature\s*=\s*"(\w+)"')
NAME = re.compile(r'"((?:[a-z0-9-]+\.)*koordinator\.sh/[A-Za-z0-9._/-]*[A-Za-z0-9])"')
CONSTANT = re.compile(r'(\w+)\s*=\s*"((?:[a-z0-9-]+\.)*koordinator\.sh)/?"')
JOINED = re.compile(r'\b(\w*(?:Domain|Prefix|Group)\w*)\s*\+\s*"(/?[A-Za-z0-9._/-]+)"')
METRIC_OPTIONS = re.compile(r"(?:Opts|Options)\{(.*?)\n\s*\}", re.S)


def sources(folder: pathlib.Path):
    for path in sorted(folder.rglob("*.go")):
        if not path.name.endswith("_test.go") and "/vendor/" not in str(path) and "mock" not in path.name:
            yield path, path.read_text(errors="replace")


def flags_of(upstream: pathlib.Path):
    for folder in ("cmd", "pkg"):
        for path, text in sources(upstream / folder):
            if "flag" not in text:
                continue
            for name in FLAG.findall(text) + CLI_FLAG.findall(text):
                yield name, path


def gates_of(upstream: pathlib.Path):
    for path, text in sources(upstream / "pkg"):
        for name in GATE.findall(text):
            yield name, path


def names_of(upstream: pathlib.Path):
    constants: dict[str, str] = {}
    texts = list(sources(upstream / "apis")) + list(sources(upstream / "pkg"))
    for _, text in texts:
        for constant, domain in CONSTANT.findall(text):
            constants[constant] = domain
    for path, text in texts:
        for name in NAME.findall(text):
            yield name, path
        for constant, rest in JOINED.findall(text):
            if constant in constants and rest.strip("/"):
                yield constants[constant] + "/" + rest.lstrip("/"), path


def keys_of(upstream: pathlib.Path):
    for folder in KEYED:
        for path, text in sources(upstream / folder):
            for name in KEY.findall(text):
                yield name, path


def metrics_of(upstream: pathlib.Path):
    for path, text in sources(upstream / "pkg"):
        if "/metrics" not in str(path) and "prometheus" not in text:
            continue
        for options in METRIC_OPTIONS.findall(text):
            name = re.search(r'\bName:\s*"(\w+)"', options)
            if name:
                yield name.group(1), path


def fields_of(document) -> set[str]:
    """Paths of all properties of a CustomResourceDefinition's served versions."""
    found: set[str] = set()

    def walk(schema, path):
        for name, below in (schema.get("properties") or {}).items():
            found.add(f"{path}.{name}")
            walk(below, f"{path}.{name}")
        for part, mark in (("items", "[]"), ("additionalProperties", "{}")):
            if isinstance(schema.get(part), dict):
                walk(schema[part], path + mark)

    for version in document["spec"]["versions"]:
        walk(version["schema"]["openAPIV3Schema"], f"{document['spec']['names']['kind']}/{version['name']}")
    return found


def crd_fields(folder: pathlib.Path):
    for path in sorted(folder.glob("*.yaml")):
        for field in sorted(fields_of(yaml.safe_load(path.read_text()))):
            yield field, path


def words_here() -> set[str]:
    words: set[str] = set()
    for folder in ("src", "cmd", "deploy"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "_test." not in path.name and "/testing/" not in str(path):
                words.update(re.findall(WORD, path.read_text(errors="replace")))
    return words


def is_here(name: str, words: set[str]) -> bool:
    if name in words:
        return True
    # Names that are put together from a prefix and a part: koordinator.sh/ + x.
    domain, _, rest = name.partition("/")
    return bool(rest) and rest in words and domain in words


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--upstream", required=True, type=pathlib.Path, metavar="FOLDER")
    upstream = arguments.parse_args().upstream
    for part in ("apis", "cmd", "pkg", CRDS):
        if not (upstream / part).is_dir():
            print(f"error: --upstream {upstream}: no checkout of koordinator-sh/koordinator: it has no {part}",
                  file=sys.stderr)
            return 2
    words = words_here()
    # A metric's full name has a prefix that its options leave to the package.
    metrics = {word for word in words if re.fullmatch(r"\w+", word)}
    fields = {field for field, _ in crd_fields(ROOT / "deploy/crds")}
    kinds = (
        ("flag", flags_of(upstream), lambda name: is_here(name, words)),
        ("gate", gates_of(upstream), lambda name: is_here(name, words)),
        ("name", names_of(upstream), lambda name: is_here(name, words)),
        ("key", keys_of(upstream), lambda name: name in words),
        ("metric", metrics_of(upstream),
         lambda name: name in metrics or any(word.endswith("_" + name) for word in metrics)),
        ("field", crd_fields(upstream / CRDS), fields.__contains__),
    )
    absent = 0
    for kind, all_names, here in kinds:
        seen: set[str] = set()
        missing = 0
        for name, path in all_names:
            if name in seen:
                continue
            seen.add(name)
            if here(name):
                continue
            if name in DECIDED:
                print(f"{kind} {name}: absent on purpose: {DECIDED[name]}")
                continue
            missing += 1
            print(f"{kind} {name}: absent; upstream has it in {path.relative_to(upstream)}")
        print(f"{kind}: {len(seen)} looked at, {missing} absent")
        absent += missing
    explained = (ROOT / UPGRADE).read_text()
    for name in DECIDED:
        if f"`{name}`" not in explained:
            print(f"{UPGRADE} does not name `{name}`")
            absent += 1
    return 1 if absent else 0


if __name__ == "__main__":
    sys.exit(main())
