#!/usr/bin/env python3
"""Checks what the compiler does not: include directions between floors, sizes, pragma once, two
traps of coroutines, names that files which are compiled together must not share, types that are
defined twice, readers that throw, sums of what a pod asks for, the width of comments."""

import pathlib
import re
import sys

import web_files
from cpp_functions import blanked, functions, own_names

ROOT = pathlib.Path(__file__).resolve().parent.parent
BELOW_CLUSTER = {"api", "cel", "net", "kube", "model", "apiserver", "scheduler", "manager", "descheduler", "koordlet",
                 "console"}
# A folder may include only from folders in its row and from base.
MAY_USE = {
    "base": set(),
    "cel": set(),
    "api": set(),
    "net": set(),
    "kube": {"api", "net"},
    "model": {"api", "cel"},
    "apiserver": {"api", "cel", "net", "kube", "model"},
    "scheduler": {"api", "cel", "net", "kube", "model"},
    "manager": {"api", "cel", "net", "kube", "model"},
    "descheduler": {"api", "cel", "net", "kube", "model"},
    "koordlet": {"api", "cel", "net", "kube", "model"},
    "devicedaemon": {"api", "net", "kube", "model", "koordlet"},
    "runtimeproxy": {"api", "net", "kube", "model"},
    "console": {"api", "net", "kube", "model"},
    "cluster": BELOW_CLUSTER,
    "scenario": BELOW_CLUSTER | {"cluster"},
    "koordctl": BELOW_CLUSTER | {"cluster", "scenario"},
}
# Tests may reach for the embedded API server.
TESTS_MAY_ALSO_USE = {"apiserver"}
MAX_LINES, MAX_TEST_LINES = 800, 1500
# Namespaces are not indented, so the types in them begin in the first column.
NAMESPACE_BEGINS = re.compile(r"namespace\s*([\w:]*)\s*\{$")
TYPE_BEGINS = re.compile(r"(?:class|struct|enum|enum class)\s+(\w+)\s*(?:final\s*)?(?::[^:;].*)?\{")
# clang-format breaks code at this column and leaves comments as they are.
MAX_COLUMNS = 100
# Tests and benchmarks have tables of cases within their functions.
MAX_FUNCTION, MAX_TEST_FUNCTION = 60, 150
# Tables that are written as a function.
LONG_BY_NATURE = {
    ("src/apiserver/registry/builtin_resources.cc", "rows"),
    ("src/apiserver/tables/builtin_tables.cc", "rows"),
}
TESTS_IN_BATCHES = {"fuzz", "golden", "simulation"}
INCLUDE = re.compile(r'^#include "([^"/]+)/[^"]+"', re.M)

# A lambda that is a coroutine always names its return type. What it captures lives in the lambda,
# not in the coroutine: when the lambda is gone, the captures are.
CAPTURING = re.compile(r"\[[^\[\]]+\]\s*(?:\([^{};]*?\))?[\s\w]*->\s*(?:koord::)?Task<")
COROUTINE = re.compile(
    r"\bTask<[^;{}()]*?>\s+([\w:]+)\(([^{};]*?)\)\s*(?:const|override|final|;|\{)")
# They throw where the input is not as expected; base/json.h and std::from_chars do not.
THROWS = re.compile(r"\b(to_number|value_to)\s*<|(?:\.|->)(as_(?:object|array|string|int64|uint64|double|bool))\s*\("
                    r"|\b(std::sto[a-z]+)\s*\(|(?:\.|->)(at)\(\s*\"[^\"]")
SPAWNED = re.compile(r"\bspawn\(\s*(?:\w+(?:\.|->))*([\w:]+)\(")


# Containers of a pod in turn, and sums.
OVER_CONTAINERS = re.compile(r"\bfor \([^;{}]*: [^;{}]*\bspec(?:\.|->)(?:c|initC)ontainers\)\s*")
ADDS_UP = re.compile(r"\+=|\.add\(|\baddTo\(|\badd\(line\b")
SUMS_OF_THEIR_OWN = {
    # The annotation extended-resource-spec does not give the order of init containers.
    "src/koordlet/hooks/batchresource/batch_resource.cc",
    # The share of each container: a pod's usage is divided among its containers by their requests.
    "src/manager/recommender/usage_share.cc",
}


def is_test(name: pathlib.Path) -> bool:
    return name.parts[0] in ("tests", "bench") or name.stem.endswith("_test") or name.stem.startswith("reference_")


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


def check_width(name: pathlib.Path, text: str) -> list[str]:
    """A comment that has a line for itself. A long word, such as an address, may stand alone in its line."""
    return [f"{name}:{number}: the comment has {len(line)} columns, the limit is {MAX_COLUMNS}"
            for number, line in enumerate(text.split("\n"), 1)
            if len(line) > MAX_COLUMNS and line.lstrip().startswith("//") and " " in line.lstrip().lstrip("/ ")]


def check_coroutines(name: pathlib.Path, code: str, test: bool) -> list[str]:
    """Tasks begin when they are awaited. Who awaits one at once keeps its arguments alive
    meanwhile, so references are fine there; who spawns one does not."""
    problems = []
    for match in CAPTURING.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        problems.append(f"{name}:{line}: a lambda that is a coroutine must not capture; "
                        "write a function with value parameters")
    if test:
        return problems
    referring = {match.group(1).split("::")[-1]
                 for match in COROUTINE.finditer(code) if "&" in match.group(2)}
    for match in SPAWNED.finditer(code):
        called = match.group(1).split("::")[-1]
        if called in referring:
            line = code.count("\n", 0, match.start()) + 1
            problems.append(f"{name}:{line}: {called} is spawned and takes references; "
                            "pass values, or pointers to what outlives it")
    return problems


def check_throwing(name: pathlib.Path, text: str, code: str, test: bool) -> list[str]:
    """What comes from outside may be anything, so it is not read by what throws."""
    if test or name.parts[0] not in ("src", "cmd") or re.search(r"testing|fixture|fake_", str(name)):
        return []
    # `code` says where there is code, `text` still has the strings.
    return [f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {next(filter(None, match.groups()))} throws; "
            "use base/json.h or std::from_chars"
            for match in THROWS.finditer(text) if code[match.start()] != " "]


def body_after(code: str, start: int) -> str:
    """The statement that begins there, up to its semicolon or the end of its block."""
    depth = 0
    for end in range(start, len(code)):
        depth += (code[end] == "{") - (code[end] == "}")
        if depth == 0 and code[end] in ";}":
            return code[start:end]
    return code[start:]


def check_sums(name: pathlib.Path, code: str, test: bool) -> list[str]:
    """What a pod asks for is one answer (src/model/pod_requests.h): with sidecars, init containers,
    overhead and amounts of the whole pod. A loop over its containers that adds amounts up is another."""
    if test or str(name).startswith("src/model/") or str(name) in SUMS_OF_THEIR_OWN:
        return []
    return [f"{name}:{code.count(chr(10), 0, match.start()) + 1}: adds up amounts of containers; ask model/pod_requests.h"
            for match in OVER_CONTAINERS.finditer(code) if ADDS_UP.search(body_after(code, match.end()))]


def compiled_with(name: pathlib.Path) -> pathlib.Path:
    """The folder whose files of the same sort may be compiled as one with this one: that of the
    target, or of the component that has one test program."""
    folders = [folder for folder in name.parents if (ROOT / folder / "CMakeLists.txt").exists()]
    if is_test(name):
        for folder in folders:
            sets = re.search(r"^set\(KOORD_TESTS\b ?(\w*)", (ROOT / folder / "CMakeLists.txt").read_text(), re.M)
            if sets:
                return folder if sets.group(1) else folders[0]
    return folders[0]


def check_batches(files: dict[pathlib.Path, str]) -> list[str]:
    """Files of a folder, and the tests of a component, are compiled several at a time
    (koord_batches), which ones may change with every new file: what they keep to themselves must
    have different names."""
    problems = []
    owners = {}
    for name, code in files.items():
        batched = name.parts[0] == "src" or name.parts[1] in TESTS_IN_BATCHES
        if name.suffix != ".cc" or not batched or name.stem.startswith("codec"):
            continue
        folder = compiled_with(name)
        namespace = re.search(r"\bnamespace\s+([\w:]+)\s*\{", code)
        for own in own_names(code):
            key = (folder, is_test(name), namespace and namespace.group(1), own)
            if key in owners:
                problems.append(f"{name}: {own} of its unnamed namespace is in {owners[key]}, too; "
                                "rename or share it")
            owners[key] = name
    return problems


def check_types(texts: dict[pathlib.Path, str]) -> list[str]:
    """A type is defined once in a namespace: of two, the linker keeps one's functions for both."""
    problems = []
    owners = {}
    for name, text in texts.items():
        if name.parts[0] != "src" or is_test(name):
            continue
        namespaces = []
        for line in text.split("\n"):
            if opened := NAMESPACE_BEGINS.match(line):
                namespaces.append(opened.group(1))
            elif line.startswith("}  // namespace"):
                namespaces.pop()
            elif (found := TYPE_BEGINS.match(line)) and "" not in namespaces:
                key = ("::".join(namespaces), found.group(1))
                if owners.setdefault(key, name) != name:
                    problems.append(f"{name}: {found.group(1)} is a type of this namespace in {owners[key]}, too")
    return problems


def check(name: pathlib.Path, text: str, code: str) -> list[str]:
    test = is_test(name)
    problems = check_place(name, text, test) if name.parts[0] == "src" else []
    try:
        problems += check_sizes(name, code, test)
    except (ValueError, IndexError):
        problems.append(f"{name}: the braces do not match")
    problems += check_width(name, text) + check_coroutines(name, code, test) + check_throwing(name, text, code, test)
    return problems + check_sums(name, code, test)


def check_web(path: pathlib.Path) -> list[str]:
    """The page of the console has the limits of all sources; no formatter keeps its lines short."""
    name, text, test = path.relative_to(ROOT), path.read_text(encoding="utf-8"), web_files.is_test(path)
    problems = [f"{name}:{number}: {len(line)} columns, the limit is {MAX_COLUMNS}"
                for number, line in enumerate(text.split("\n"), 1) if len(line) > MAX_COLUMNS]
    limit = MAX_TEST_LINES if test else MAX_LINES
    if (lines := text.count("\n")) > limit:
        problems.append(f"{name}: {lines} lines, the limit is {limit}; split it")
    limit = MAX_TEST_FUNCTION if test else MAX_FUNCTION
    if path.suffix in web_files.SCRIPTS:
        problems += [f"{name}:{line}: {function} has {lines} lines, the limit is {limit}; split it"
                     for function, line, lines in web_files.functions(text) if lines > limit]
    return problems


def main() -> int:
    problems = [problem for path in web_files.files() for problem in check_web(path)]
    files, texts = {}, {}
    for folder in ("src", "cmd", "tests", "bench"):
        for path in sorted((ROOT / folder).glob("**/*")):
            if path.suffix in (".h", ".cc"):
                name, text = path.relative_to(ROOT), path.read_text()
                files[name], texts[name] = blanked(text), text
                problems += check(name, text, files[name])
    problems += check_batches(files) + check_types(texts)
    print("\n".join(problems) or "tree: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
