#!/usr/bin/env python3
"""Finds wording in comments, messages and documentation that docs/style.md rules out.

    check_words.py [FILE ...]     without files: every page, C++ source, manifest, example and scenario of the tree
    check_words.py --messages     prints every text of the programs that a user may see, to read them as one list

Each pattern has the advice that is printed with it. Add a pattern when a review finds a habit that the list lacks.
"""

import pathlib
import re
import sys

import web_files

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATTERNS = [(re.compile(pattern, re.IGNORECASE), advice) for pattern, advice in (
    (r"\b(?:of )?one (?:that|who|which)\b", "name the thing"),
    (r"\bno longer\b(?! than)", "say what is: \"does not\""),
    (r"(?<!not exist )\bany more\b(?! (?:of|than))", "say what is: leave it out, or \"does not\""),
    (r"\banew\b", "\"again\", \"rebuilt\" or \"recomputed\""),
    (r"\b(?:whoever|whomever)\b", "name the actor"),
    (r"\b(?:nobody|somebody|anybody)\b", "name the actor"),
    (r"\b(?:is|are|was|were|be|been) told\b", "\"is notified\", \"is reported\", or name who reports what"),
    (r"\btells? of\b|\btold of\b", "\"reports\""),
    (r"\bhears? of\b", "\"is notified of\""),
    (r"\bby now\b|\bas things are\b", "leave it out, or say \"already\""),
    (r"\bin vain\b", "\"without effect\", \"does not help\" or \"useless\""),
    (r"\btak(?:e|es|en|ing) back\b", "\"releases\", \"reverts\" or \"reduces\""),
    (r"\bcomes? and goes?\b", "\"is added and removed\""),
    (r"\bfor ever\b", "\"indefinitely\""),
    (r"\bbesides\b", "\"also\" or \"in addition\""),
    (r"\bwhat-if questions?\b", "\"what-if simulation\" or \"dry run\""),
    (r"\bmade to leave\b", "\"evicted\" or \"preempted\""),
    (r"\bworked out\b", "\"computed\""),
    (r"\bas good as\b", "\"almost\", or give the figure"),
    (r"\bhowever (?:often|many|much|long)\b", "\"no matter how\" or give the bound"),
    (r"(?<!there )\bis no [A-Za-z]", "\"is not a\""),
)]
# In texts that a user sees.
MESSAGES = [(re.compile(pattern, re.IGNORECASE), advice) for pattern, advice in (
    (r"\bis there (?:twice|already)\b", "\"duplicate\" or \"exists\""),
    (r"\bis not there\b", "\"does not exist\" or \"is missing\""),
    (r"\b(?:has|have) to be\b", "\"must be\""),
    (r"\bheld to\b", "\"limited to\""),
    (r"\bgo(?:es)? on\b", "\"continues\""),
    (r"\bleft (?:alone|out)\b", "\"ignored\", \"skipped\" or \"excluded\""),
    (r"\bmay leave\b", "\"may be evicted\""),
    (r"\bpromised\b", "\"reserved\", \"nominated\" or \"assumed\""),
    (r"\b(?:knows?|makes?|gives?|issues?|takes?) no\b", "\"does not\" and the verb"),
    (r"\b(?:meanwhile|likewise)\b", "\"in the meantime\", \"also\" or the whole text"),
    (r"\bcarr(?:y|ies|ied) out\b", "\"executes\""),
    (r"\bworked on\b", "\"processed\""),
    (r"\broom\b", "\"resources\", \"capacity\" or \"a node\""),
    (r"\bbest effort\b", "\"BE pods\""),
    (r"\bsays? (?:what|which|who|how|why|where)\b", "\"names\", \"reports\" or \"has\""),
    (r"\b(?:this|another) machine\b", "\"this host\" or \"this node\""),
    (r"\bunder way\b", "\"in progress\""),
    (r"(?<!original \{\} )\bis gone\b", "\"does not exist\" or \"was deleted\""),
    (r"\bodd\b(?! and)", "\"invalid\" or \"malformed\""),
    (r"\bof (?:its|one's|your) own\b", "\"its own\" before the noun"),
    (r"\bforbids? it\b", "\"rejects it\""),
    (r"\bstill there\b", "\"still exists\""),
)]
# Pages that list the words themselves.
EXEMPT = {"docs/style.md", "scripts/check_words.py"}
COMMENT = re.compile(r"(?:^|\s)//+ ?(.*)$")
YAML_COMMENT = re.compile(r"(?:^|\s)# ?(.*)$")
YAML_DESCRIPTION = re.compile(r"\s*description: >-$")
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
# A comment, or string literals that the compiler joins.
LITERALS = re.compile(r'//[^\n]*|#include[^\n]*|("(?:\\.|[^"\\\n])*"(?:\s+"(?:\\.|[^"\\\n])*")*)')
FENCE = re.compile(r"^\s*```")


def prose_of_page(text):
    """(line number, text) outside of code blocks and of `code`."""
    code = False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            code = not code
        elif not code:
            yield number, re.sub(r"`[^`]*`", "``", line)


def prose_of_source(text):
    """(line number, text) of comments; lines that follow each other are one text."""
    block, start = [], 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        match = COMMENT.search(STRING.sub('""', line))
        if match and not block:
            start = number
        if match:
            block.append(match.group(1))
        elif block:
            yield start, re.sub(r"`[^`]*`|\"[^\"]*\"", "``", " ".join(block))
            block = []


def prose_of_yaml(text):
    """The comments of manifests, examples and scenarios, and the descriptions of scenarios, which users read."""
    described = None  # column of the description
    for number, line in enumerate(text.split("\n"), 1):
        column = len(line) - len(line.lstrip())
        if described is not None and line.strip() and column <= described:
            described = None
        if described is not None:
            yield number, re.sub(r"`[^`]*`", "``", line)
        elif YAML_DESCRIPTION.match(line):
            described = column
        elif match := YAML_COMMENT.search(line):
            yield number, re.sub(r"`[^`]*`", "``", match.group(1))


def messages_of_source(text):
    """(line number, text) of literals with two words or more: logs, events, conditions, errors, help."""
    for match in LITERALS.finditer(text):
        if match.group(1):
            message = "".join(part[1:-1] for part in STRING.findall(match.group(1)))
            if len(re.findall(r"(?:^|\s)[\"'(]*[A-Za-z][a-z]+", message)) >= 2:
                yield text.count("\n", 0, match.start()) + 1, message


def is_test(path):
    return path.name.endswith(("_test.cc", "_test.h")) or "testing" in path.parts or path.is_relative_to(ROOT / "tests")


def problems_of(path):
    name = str(path.relative_to(ROOT))
    if name in EXEMPT:
        return
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        proses = [(number, prose, PATTERNS) for number, prose in prose_of_page(text)]
    elif path.suffix in (*web_files.SCRIPTS, ".css", ".html"):
        proses = [(number, prose, PATTERNS) for number, prose in web_files.comments(path, text)]
        proses += [(number, message, PATTERNS + MESSAGES) for number, message in web_files.messages(path, text)]
    elif path.suffix == ".yaml":
        proses = [(number, prose, PATTERNS) for number, prose in prose_of_yaml(text)]
    else:
        proses = [(number, prose, PATTERNS) for number, prose in prose_of_source(text)]
        if not is_test(path):
            proses += [(number, message, PATTERNS + MESSAGES) for number, message in messages_of_source(text)]
    for number, prose, patterns in proses:
        for pattern, advice in patterns:
            if match := pattern.search(prose):
                yield f"{name}:{number}: \"{match.group(0).strip()}\": {advice}"


def main():
    if sys.argv[1:] == ["--messages"]:
        for path in sorted([*ROOT.glob("src/**/*.cc"), *ROOT.glob("src/**/*.h"), *ROOT.glob("cmd/**/*.cc")]):
            if not is_test(path):
                for number, message in messages_of_source(path.read_text(encoding="utf-8")):
                    print(f"{path.relative_to(ROOT)}:{number}: {message}")
        return 0
    files = [pathlib.Path(name).resolve() for name in sys.argv[1:]]
    if not files:
        files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(page for folder in ("docs", "src", "examples", "tests")
                                                                          for page in sorted(ROOT.glob(f"{folder}/**/*.md")))]
        files += sorted(ROOT.glob("deploy/**/*.yaml")) + sorted(ROOT.glob("examples/**/*.yaml"))
        files += sorted(ROOT.glob("tests/scenarios/**/*.yaml"))
        files += web_files.files()
        for suffix in ("h", "cc"):
            files += [path for folder in ("src", "cmd", "bench", "tests") for path in sorted(ROOT.glob(f"{folder}/**/*.{suffix}"))]
    problems = [problem for path in files for problem in problems_of(path)]
    for problem in problems:
        print(problem)
    print("words: ok" if not problems else f"words: {len(problems)} to mend; docs/style.md says how")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
