"""Finds the functions of a C++ file by its braces, and the names that it keeps to itself, for
check_tree.py.

No parser: comments, strings and preprocessor lines are blanked, then a stack says what each open
brace is. Braces of namespaces and classes are looked into; a brace after a head with balanced
parentheses opens a function; every other brace (initializers, lambdas of an initializer list)
belongs to what stands around it. That is enough for formatted code without macros that hide braces.
The whole tree takes a second.
"""

import re
from typing import NamedTuple

# What may hold a brace that is none: comments, (raw) strings, characters, preprocessor lines.
_NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:\\\n|[^\n])*",
    re.S | re.M)
_NAMESPACE = re.compile(r"(^|\s)(namespace|extern)\b[^()]*$")
_TYPE = re.compile(r"\b(class|struct|union|enum)\b[^()=]*$")
_NOISE = re.compile(r"<[^<>]*>|alignas\([^)]*\)|\[\[.*?\]\]")


class Function(NamedTuple):
    name: str
    line: int   # of its first word
    lines: int  # from there to the closing brace


def blanked(text: str) -> str:
    """The same text, as long, with everything that is not code as blanks."""
    return _NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def _name(head: str) -> str:
    found = re.search(r"[\w:~]+[^\w\s(]*(?=\s*\()", head)
    if found and found.group().startswith("TEST"):  # TEST_F(Suite, name)
        return head[found.start():head.index(")") + 1]
    return found.group() if found else head


def functions(code: str) -> list[Function]:
    """The functions of a blanked file; one within another counts as part of it."""
    found = []
    open_braces = []  # "scope", "function" or "other", innermost last
    head = 0          # where the text in front of the next brace begins
    begin = 0         # of the function that is open
    for match in re.finditer(r"[{};]", code):
        looked_into = not open_braces or open_braces[-1] == "scope"
        if match.group() == "{":
            kind = "other"
            if looked_into:
                text = code[head:match.start()].strip()
                if _NAMESPACE.search(text) or _TYPE.search(_NOISE.sub("", text)):
                    kind, head = "scope", match.end()
                elif "(" in text and text.count("(") == text.count(")") and not text.endswith("="):
                    kind, begin = "function", head
            open_braces.append(kind)
        elif match.group() == "}":
            kind = open_braces.pop()
            if kind == "scope":
                head = match.end()
            # A comma or a brace after it: it was a member that the constructor initializes.
            elif kind == "function" and not re.match(r"\s*[,{]", code[match.end():]):
                begin += len(code[begin:]) - len(code[begin:].lstrip())
                line = code.count("\n", 0, begin) + 1
                lines = code.count("\n", begin, match.end()) + 1
                found.append(Function(_name(code[begin:match.start()]), line, lines))
                head = match.end()
        elif looked_into:
            head = match.end()
    if open_braces:
        raise ValueError("the braces do not match")
    return found


_UNNAMED = re.compile(r"\bnamespace\s*\{")
_OWN_NAMES = re.compile(
    r"\b(?:struct|class|enum class|enum)\s+(\w+)\s*(?:final\s*)?(?::[^{};]*)?\{"
    r"|\b(k[A-Z]\w*)\s*(?:\[[^\]]*\])?\s*[={]"
    r"|(\w+\s*\([^(){};]*(?:\([^()]*\)[^(){};]*)*\))\s*(?:const|noexcept|->[^{;]*|\s)*\{")


def own_names(code: str) -> set[str]:
    """Types, constants and functions (with their parameters) of the unnamed namespaces of a blanked
    file. Such a file must not be compiled together with another one that has the same."""
    found = set()
    for match in _UNNAMED.finditer(code):
        shallow, depth = [], 1  # what stands at the depth of the namespace
        for char in code[match.end():]:
            depth -= char == "}"
            if depth == 0:
                break
            if depth == 1 and char != "}":
                shallow.append(char)
            depth += char == "{"
        for names in _OWN_NAMES.finditer("".join(shallow)):
            type_, constant, function = names.groups()
            found.add(type_ or constant or _signature(function))
    return found


def _signature(function: str) -> str:
    """Without the names of the parameters."""
    name, parameters = function[:-1].split("(", 1)
    types = [re.sub(r"(?<=[\s&*>])\w+$", "", part.split("=")[0].strip()).strip()
             for part in parameters.split(",")]
    return f"{name.strip()}({', '.join(types)})"
