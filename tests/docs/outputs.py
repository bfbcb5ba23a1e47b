"""Compares the output of a command with the output that a page shows."""

import re

# What differs from run to run. A `100m` is an amount of CPU as well as an age, so ages in whole minutes stay.
VOLATILE = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"), "TIME"),
    (re.compile(r"\b(\d{1,3}\.){3}\d{1,3}(:\d+)?\b"), "ADDRESS"),
    (re.compile(r"-[a-z0-9]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "-HASH-NAME"),  # a pod of a Deployment
    (re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "-NAME"),
    (re.compile(r"\b(\d+h)?(\d+m)?\d+(\.\d+)?(ms|us|s)\b"), "AGE"),
    (re.compile(r"-{3,}"), "---"),
    (re.compile(r"[ \t]+"), " "),
)
ANY = "..."


def normal(line):
    for pattern, text in VOLATILE:
        line = pattern.sub(text, line)
    return line.rstrip()


def agrees(shown, real):
    """True if the lines `real` are those that the page shows; a shown line `...` stands for any number of lines."""
    shown, real = [normal(line) for line in shown], [normal(line) for line in real]
    reached = {0}  # numbers of real lines that the shown ones so far may stand for
    for line in shown:
        if line.strip() == ANY:
            reached = set(range(min(reached), len(real) + 1)) if reached else set()
        else:
            reached = {at + 1 for at in reached if at < len(real) and real[at] == line}
    return len(real) in reached
