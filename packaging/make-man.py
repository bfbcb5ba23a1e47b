#!/usr/bin/env python3
"""Makes the manual pages of the programs from what they print for --help:

    make-man.py --programs FOLDER --output FOLDER --version TEXT [--date YYYY-MM-DD] [PROGRAM...]

koordctl gets a page for each of its commands. The same programs give the same pages.
"""

import argparse
import glob
import os
import re
import subprocess

# The section of the manual that each program is in.
DAEMON = 8
PROGRAMS = {"koordctl": 1, "koordlet": DAEMON, "koord-scheduler": DAEMON, "koord-manager": DAEMON,
            "koord-descheduler": DAEMON, "koord-device-daemon": DAEMON, "koord-runtime-proxy": DAEMON}
TEXT_WIDTH = 66  # of the text beside a flag, as in src/base/flags/flag_help.cc
FLAG = re.compile(r"  (?:(-\w), |    )--(\S+)(?: (\S+))?(?:  +(.*))?$")
GATE = re.compile(r"\w+=true\|false ")  # each has a line for itself
COMMAND = re.compile(r"  (\S+(?: \S+)?)  +(\S.*)$")
EXIT_STATUS = (("0", "the command did what it says"), ("1", "it failed, or a check found a problem"),
               ("2", "the command line is wrong"))
FILES = {
    "koordctl": (("/var/lib/koordctl", "data of the clusters of root: objects, keys, logs, kubeconfig"),
                 ("~/.local/share/koordctl", "the same of other users"),
                 ("/usr/share/koordinator/node-shapes", "shapes of simulated nodes, for koordctl up --node-shape")),
    "koordlet": (("/etc/koordinator/koordlet.kubeconfig", "how the service koordlet reaches the cluster"),
                 ("/etc/default/koordlet", "more flags and variables of the service")),
    "koord-scheduler": (("/etc/koordinator/koord-scheduler.yaml", "configuration of the service koord-scheduler"),
                        ("/etc/koordinator/koord-scheduler.kubeconfig", "how it reaches the cluster"),
                        ("/etc/default/koord-scheduler", "more flags and variables of the service")),
    "koord-manager": (("/etc/koordinator/koord-manager.kubeconfig", "how the service koord-manager reaches the cluster"),
                      ("/etc/default/koord-manager", "more flags and variables of the service")),
    "koord-descheduler": (("/etc/koordinator/koord-descheduler.yaml", "configuration of the service koord-descheduler"),
                          ("/etc/koordinator/koord-descheduler.kubeconfig", "how it reaches the cluster"),
                          ("/etc/default/koord-descheduler", "more flags and variables of the service")),
    "koord-device-daemon": (("/etc/default/koord-device-daemon", "more flags and variables of the service"),),
    "koord-runtime-proxy": (("/etc/default/koord-runtime-proxy", "more flags and variables of the service"),),
}


def help_of(program, words=()):
    """The text of --help; the environment of the caller has no part in it."""
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, timeout=30,
                          env={"PATH": "/usr/bin:/bin", "HOME": "/"})
    if done.returncode != 0 or not done.stdout.strip():
        raise SystemExit(f"{program} {' '.join(words)} --help: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def roff(text):
    """The text with roff's characters quoted. Long lists of values may be broken after a comma."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"\S{40,}", lambda word: re.sub(r",(?=.)", ",\\\\:", word.group()), text)
    return "\\&" + text if text.startswith((".", "'")) else text


def bold(text):
    return f"\\fB{roff(text)}\\fR"


def paragraphs(lines):
    """Joins lines that were wrapped; a line that had space for the next word ends a paragraph."""
    result = []
    for line in lines:
        if result and len(result[-1][-1]) + 1 + len(line.split()[0]) > TEXT_WIDTH and not GATE.match(line):
            result[-1].append(line)
        else:
            result.append([line])
    return [" ".join(part) for part in result]


class Help:
    """The parts of a text of --help."""

    def __init__(self, text):
        about, _, rest = text.partition("\nUsage:\n")
        self.about = about.strip()
        lines = rest.rstrip().split("\n")
        self.usage = lines[0].strip()
        self.groups = []     # (title, [(head, [line])])
        self.commands = []   # (name, summary)
        self.details = []
        at = 1
        while at < len(lines):
            line = lines[at]
            at += 1
            if line.endswith(":") and at < len(lines) and FLAG.match(lines[at]):
                at = self.read_flags(line[:-1], lines, at)
            elif line == "Commands:":
                while at < len(lines) and (match := COMMAND.match(lines[at])):
                    self.commands.append(match.groups())
                    at += 1
            elif line or self.details:
                self.details.append(line)

    def read_flags(self, title, lines, at):
        flags = []
        while at < len(lines) and lines[at].startswith("  "):
            match = FLAG.match(lines[at])
            if match:
                short, name, kind, text = match.groups()
                flags.append((short, name, kind, [text] if text else []))
            else:
                flags[-1][3].append(lines[at].strip())
            at += 1
        self.groups.append((title, flags))
        return at


def flag_entry(short, name, kind, lines):
    head = (f"{bold(short)}, " if short else "") + bold("--" + name) + (f" \\fI{roff(kind)}\\fR" if kind else "")
    parts = paragraphs(lines) or [""]
    out = [".TP", head, roff(parts[0])]
    for part in parts[1:]:
        out += [".br", roff(part)]
    return out


def page(title, section, header, said, others, files=()):
    name = title.replace(" ", "-")
    summary = re.split(r"(?<=[.:])\s", said.about.replace(f"{title}: ", "", 1), maxsplit=1)[0].rstrip(".:").replace("\n", " ")
    out = [f'.TH {name.upper()} {section} {header}', ".ad l", ".nh", ".SH NAME", f"{roff(name)} \\- {roff(summary)}", ".SH SYNOPSIS",
           bold(title) + roff(said.usage.removeprefix(title)), ".SH DESCRIPTION", roff(said.about.replace("\n", " "))]
    if said.details:
        out += [".PP", ".nf", *map(roff, said.details), ".fi"]
    if said.commands:
        out += [".SH COMMANDS"]
        for command, text in said.commands:
            out += [".TP", bold(command), roff(text)]
    if said.groups:
        out.append(".SH OPTIONS")
    for group, flags in said.groups:
        if len(said.groups) > 1:
            out.append(f'.SS "{roff(group)}"')
        for flag in flags:
            out += flag_entry(*flag)
    if files:
        out.append(".SH FILES")
        for path, text in files:
            out += [".TP", f"\\fI{roff(path)}\\fR", roff(text)]
    if section == 1:
        out.append(".SH EXIT STATUS")
        for status, text in EXIT_STATUS:
            out += [".TP", bold(status), roff(text)]
    if others:
        out += [".SH SEE ALSO", ",\n".join(f"\\fB{roff(other)}\\fR({where})" for other, where in others)]
    return name, "\n".join(out) + "\n"


def pages_of(folder, program, header):
    section = PROGRAMS[program]
    path = os.path.join(folder, program)
    said = Help(help_of(path))
    others = [(f"{program}-{command.replace(' ', '-')}", section) for command, _ in said.commands]
    others += [(other, where) for other, where in PROGRAMS.items() if other != program]
    yield section, *page(program, section, header, said, others, FILES[program])
    for command, _ in said.commands:
        text = help_of(path, command.split())
        yield section, *page(f"{program} {command}", section, header, Help(text), [(program, section)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--date", default="")
    parser.add_argument("program", nargs="*", default=list(PROGRAMS))
    options = parser.parse_args()
    header = f'"{options.date}" "koordinator {options.version}" "Koordinator"'
    for program in options.program:
        for stale in glob.glob(os.path.join(options.output, "man?", f"{program}[.-]*")):
            os.remove(stale)
        for section, name, text in pages_of(options.programs, program, header):
            folder = os.path.join(options.output, f"man{section}")
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"{name}.{section}"), "w") as file:
                file.write(text)


if __name__ == "__main__":
    main()
