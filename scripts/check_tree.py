#!/usr/bin/env python3
"""Checks what the compiler does not: include directions between floors, sizes, pragma once, two traps of coroutines."""

import pathlib
import re
import sys

from cpp_functions import blanked, functions

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
# Tests and benchmarks have tables of cases within their functions.
MAX_FUNCTION, MAX_TEST_FUNCTION = 60, 100
# Tables that are written as a function, and branches that belong together (one per token, per type).
LONG_BY_NATURE = {
    ("src/apiserver/registry/builtin_resources.cc", "rows"),
    ("src/apiserver/tables/builtin_tables.cc", "rows"),
}
INCLUDE = re.compile(r'^#include "([^"/]+)/[^"]+"', re.M)

# A lambda that is a coroutine always names its return type. What it captures lives in the lambda, not in the
# coroutine: when the lambda is gone, the captures are.
CAPTURING = re.compile(r"\[[^\[\]]+\]\s*(?:\([^{};]*?\))?[\s\w]*->\s*(?:koord::)?Task<")
COROUTINE = re.compile(r"\bTask<[^;{}()]*?>\s+([\w:]+)\(([^{};]*?)\)\s*(?:const|override|final|;|\{)")
SPAWNED = re.compile(r"\bspawn\(\s*(?:\w+(?:\.|->))*([\w:]+)\(")


def check_place(name: pathlib.Path, text: str, test: bool) -> list[str]:
    """Includes only from the floors below; headers are read once."""
    problems = []
    if name.suffix == ".h" and "#pragma once" not in text:
        problems.append(f"{name}: no #pragma once")
    floor = name.parts[1]
    if floor not in MAY_USE:
        return problems + [f"{name}: {floor} is not a known floor"]
    allowed = MAY_USE[floor] | {"base", floor} | (TESTS_MAY_ALSO_USE if test else set())
    for used in INCLUDE.findall(text):
        if used in MAY_USE and used not in allowed:
            problems.append(f"{name}: must not include from {used}/")
    return problems


def check_sizes(name: pathlib.Path, code: str, test: bool) -> list[str]:
    problems = []
    lines = code.count("\n")
    limit = MAX_TEST_LINES if test else MAX_LINES
    if lines > limit:
        problems.append(f"{name}: {lines} lines, the limit is {limit}; split it")
    limit = MAX_TEST_FUNCTION if test else MAX_FUNCTION
    for function in functions(code):
        if function.lines > limit and (str(name), function.name) not in LONG_BY_NATURE:
            problems.append(f"{name}:{function.line}: {function.name} has {function.lines} lines, "
                            f"the limit is {limit}; split it")
    return problems


def check_coroutines(name: pathlib.Path, code: str, test: bool) -> list[str]:
    """Tasks begin when they are awaited. Who awaits one at once keeps its arguments alive meanwhile, so references
    are fine there; who spawns one does not."""
    problems = []
    for match in CAPTURING.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        problems.append(f"{name}:{line}: a lambda that is a coroutine must not capture; "
                        "write a function with value parameters")
    if test:
        return problems
    referring = {match.group(1).split("::")[-1] for match in COROUTINE.finditer(code) if "&" in match.group(2)}
    for match in SPAWNED.finditer(code):
        called = match.group(1).split("::")[-1]
        if called in referring:
            line = code.count("\n", 0, match.start()) + 1
            problems.append(f"{name}:{line}: {called} is spawned and takes references; "
                            "pass values, or pointers to what outlives it")
    return problems


def check(path: pathlib.Path) -> list[str]:
    name = path.relative_to(ROOT)
    text = path.read_text()
    code = blanked(text)
    test = name.parts[0] in ("tests", "bench") or path.stem.endswith("_test")
    problems = check_place(name, text, test) if name.parts[0] == "src" else []
    try:
        problems += check_sizes(name, code, test)
    except (ValueError, IndexError):
        problems.append(f"{name}: the braces do not match")
    return problems + check_coroutines(name, code, test)


def main() -> int:
    problems = []
    for folder in ("src", "cmd", "tests", "bench"):
        for path in sorted((ROOT / folder).glob("**/*")):
            if path.suffix in (".h", ".cc"):
                problems += check(path)
    print("\n".join(problems) or "tree: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
