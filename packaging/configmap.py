#!/usr/bin/env python3
"""Writes a key of a ConfigMap of deploy/manifests as a configuration file of a service:

    configmap.py MANIFEST KEY OUTPUT [FROM=TO...]

Each FROM is replaced by TO, and must occur.
"""

import sys
import textwrap


def block(lines, key):
    """The lines of the literal block `  KEY: |`."""
    start = lines.index(f"  {key}: |") + 1
    end = next((at for at in range(start, len(lines)) if lines[at].strip() and not lines[at].startswith("    ")), len(lines))
    return textwrap.dedent("\n".join(lines[start:end])).strip() + "\n"


def main():
    manifest, key, output, *changes = sys.argv[1:]
    with open(manifest) as file:
        lines = file.read().split("\n")
    text = block(lines, key)
    for change in changes:
        old, new = change.split("=", 1)
        if old not in text:
            raise SystemExit(f"{manifest}: {key} does not have {old}")
        text = text.replace(old, new)
    with open(output, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
