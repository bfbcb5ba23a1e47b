#!/usr/bin/env python3
"""Checks what the compiler does not: include directions between floors, file sizes, pragma once."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A folder may include only from folders in its row and from base.
MAY_USE = {
    "base": set(),
    "api": set(),
    "net": set(),
    "kube": {"api", "net"},
    "model": {"api"},
    "apiserver": {"api", "net", "kube", "model"},
    "scheduler": {"api", "net", "kube", "model"},
    "manager": {"api", "net", "kube", "model"},
    "descheduler": {"api", "net", "kube", "model"},
    "koordlet": {"api", "net", "kube", "model"},
    "runtimeproxy": {"api", "net", "kube", "model"},
    "cluster": {"api", "net", "kube", "model", "apiserver", "scheduler", "manager", "descheduler",
                "koordlet"},
}
# Tests may reach for the embedded API server.
TESTS_MAY_ALSO_USE = {"apiserver"}
MAX_LINES, MAX_TEST_LINES = 800, 1500
INCLUDE = re.compile(r'^#include "([^"/]+)/[^"]+"', re.M)


def main() -> int:
    problems = []
    for path in sorted(ROOT.glob("src/**/*")):
        if path.suffix not in (".h", ".cc"):
            continue
        name = path.relative_to(ROOT)
        text = path.read_text()
        test = path.stem.endswith("_test")
        lines = text.count("\n")
        limit = MAX_TEST_LINES if test else MAX_LINES
        if lines > limit:
            problems.append(f"{name}: {lines} lines, the limit is {limit}")
        if path.suffix == ".h" and "#pragma once" not in text:
            problems.append(f"{name}: no #pragma once")
        floor = name.parts[1]
        allowed = MAY_USE.get(floor)
        if allowed is None:
            problems.append(f"{name}: {floor} is not a known floor")
            continue
        allowed = allowed | {"base", floor} | (TESTS_MAY_ALSO_USE if test else set())
        for used in INCLUDE.findall(text):
            if used in MAY_USE and used not in allowed:
                problems.append(f"{name}: must not include from {used}/")
    print("\n".join(problems) or "tree: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
