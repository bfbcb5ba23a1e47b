"""Pages of docs/ as data: their cluster, their blocks of commands, and the files that they show."""

import os
import re
from dataclasses import dataclass, field

CLUSTER = re.compile(r"^<!-- cluster:(.*)-->\s*$")
NOT_RUN = re.compile(r"^<!-- not run:\s*\S.*-->\s*$")
FILE = re.compile(r"^<!-- file:\s*(\S+)\s*-->\s*$")
FENCE = re.compile(r"^(\s*)```(\S*)\s*$")


@dataclass
class Command:
    line: int  # of the page, from 1
    text: str  # one or more lines, without the prompts
    output: list = field(default_factory=list)

    def source(self):
        """The command as it stands in the page."""
        first, *others = self.text.split("\n")
        return [f"$ {first}", *(f"> {other}" for other in others)]


@dataclass
class Block:
    start: int     # index of the line after the opening fence
    end: int       # index of the closing fence
    language: str
    comment: str   # the HTML comment in the line before the block, "" without
    lines: list


class Page:
    """`problems` lists what is wrong with the page itself, as "PATH:LINE: what"."""

    def __init__(self, path, root):
        self.path, self.root = path, root
        self.name = os.path.relpath(path, root)
        self.problems = []
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        self.cluster = next((match.group(1).split() for match in map(CLUSTER.match, self.lines) if match), None)
        self.blocks = self.readBlocks()
        self.check()

    def readBlocks(self):
        blocks, start, language, indent = [], None, "", ""
        for index, line in enumerate(self.lines):
            match = FENCE.match(line)
            if start is None and match:
                start, indent, language = index + 1, match.group(1), match.group(2)
            elif start is not None and match and not match.group(2):
                before = [text for text in self.lines[max(start - 3, 0):start - 1] if text.strip()]
                comment = before[-1] if before and before[-1].startswith("<!--") else ""
                body = [text.removeprefix(indent) for text in self.lines[start:index]]
                blocks.append(Block(start, index, language, comment, body))
                start = None
        if start is not None:
            self.problem(start, "the block is not closed")
        return blocks

    def problem(self, line, text):
        self.problems.append(f"{self.name}:{line}: {text}")

    def check(self):
        for block in self.blocks:
            if block.language == "console" and self.cluster is None:
                self.problem(block.start, "a console block needs a comment `<!-- cluster: FLAGS -->` in the page")
            if block.language == "sh" and not NOT_RUN.match(block.comment):
                self.problem(block.start, "a sh block needs a comment `<!-- not run: REASON -->` before it")
            if match := FILE.match(block.comment):
                self.checkFile(block, match.group(1))

    def checkFile(self, block, name):
        path = os.path.join(self.root, name)
        if not os.path.isfile(path):
            self.problem(block.start, f"{name} does not exist")
        elif read(path).rstrip("\n").split("\n") != block.lines:
            self.problem(block.start, f"the block differs from {name}; --write copies the file")

    def commands(self, block):
        commands = []
        for offset, line in enumerate(block.lines):
            if line.startswith("$ "):
                commands.append(Command(block.start + offset + 1, line[2:]))
            elif not commands:
                self.problem(block.start + offset + 1, "a console block begins with a command (`$ ...`)")
            elif line.startswith("> ") and not commands[-1].output:
                commands[-1].text += "\n" + line[2:]
            else:
                commands[-1].output.append(line)
        return commands

    def write(self, texts):
        """Replaces the bodies of blocks: {block start: lines}; files are copied in besides."""
        for block in reversed(self.blocks):
            lines = texts.get(block.start)
            if match := FILE.match(block.comment):
                path = os.path.join(self.root, match.group(1))
                lines = read(path).rstrip("\n").split("\n") if os.path.isfile(path) else None
            if lines is not None:
                self.lines[block.start:block.end] = lines
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join(self.lines))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()
