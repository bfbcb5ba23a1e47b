"""The files of the console's page and of its tests, TypeScript, JavaScript and CSS, for check_tree.py
and check_words.py.

No parser: the sources are formatted, so a function begins with a line of a known form and ends with
the brace that is alone, or followed by punctuation, at the same indentation.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPTS = (".ts", ".tsx", ".mjs")
# function f(, async f(...) {, f(...): T {, private f(, const f = (...) => {
_BEGIN = re.compile(
    r"^(?P<indent> *)(?:export )?(?:default )?(?:"
    r"(?:async )?function\s*\*?\s*(?P<name>\w+)"
    r"|(?:(?:private|protected|public|static|readonly|async|get|set) )*(?P<method>(?!if|for|while|switch|catch|return)\w+)\(.*\{$"
    r"|const (?P<arrow>\w+) = (?:async )?\()", re.M)
_LITERAL = re.compile(r"'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|\"(?:\\.|[^\"\\\n])*\"")
_JSX_TEXT = re.compile(r">([^<>{}]*[A-Za-z][^<>{}]*)<")


def files() -> list[pathlib.Path]:
    found = []
    for folder in ("web", "tests/console", "bench", "scripts"):
        found += [path for path in sorted((ROOT / folder).glob("**/*"))
                  if path.suffix in (*SCRIPTS, ".css", ".html") and "node_modules" not in path.parts]
    return found


def is_test(path: pathlib.Path) -> bool:
    return path.stem.endswith("_test") or path.is_relative_to(ROOT / "tests")


def functions(text: str) -> list[tuple[str, int, int]]:
    """(name, first line, lines) of the functions; one within another counts as part of it, too."""
    lines = text.split("\n")
    found = []
    for match in _BEGIN.finditer(text):
        first = text.count("\n", 0, match.start())
        indent = len(match.group("indent"))
        if not lines[first].rstrip().endswith(("{", "(", ",", ")", "=>")) and "{" not in lines[first]:
            continue
        for last in range(first + 1, len(lines)):
            line = lines[last]
            if len(line) - len(line.lstrip()) == indent and re.match(r" *\}[;,)]*$", line):
                name = match.group("name") or match.group("method") or match.group("arrow")
                found.append((name, first + 1, last - first + 1))
                break
            if line.strip() and len(line) - len(line.lstrip()) < indent:
                break
    return found


def comments(path: pathlib.Path, text: str):
    """(line number, text) of comments; lines that follow each other are one text."""
    if path.suffix == ".css":
        for match in re.finditer(r"/\*(.*?)\*/", text, re.S):
            yield text.count("\n", 0, match.start()) + 1, " ".join(match.group(1).split())
        return
    block, start = [], 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        match = re.search(r"(?:^|\s)// ?(.*)$", _LITERAL.sub("''", line))
        if match:
            start = start if block else number
            block.append(match.group(1))
        elif block:
            yield start, re.sub(r"`[^`]*`|\"[^\"]*\"", "``", " ".join(block))
            block = []


def messages(path: pathlib.Path, text: str):
    """(line number, text) of what a user may see: literals and texts of elements with two words or more."""
    if path.suffix not in SCRIPTS or is_test(path):
        return
    for pattern in (_LITERAL, _JSX_TEXT):
        for match in pattern.finditer(text):
            message = " ".join(match.group().strip("'`\"><").split())
            if len(re.findall(r"(?:^|\s)[A-Za-z][a-z]+", message)) >= 2 and "import" not in message:
                yield text.count("\n", 0, match.start()) + 1, message
