#!/usr/bin/env python3
"""Checks what packages are made of, in seconds and without making them:

    contents.py --programs FOLDER --source REPOSITORY

The manuals name every command and flag; the services use flags, files and variables that are there; the programs read
the shipped configuration files; nothing needs a newer C or C++ library than Ubuntu 22.04 has; the licence of each library
allows to distribute the programs with it; debian/control has the packages of packaging/CMakeLists.txt.
"""

import argparse
import glob
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

FLAG = re.compile(r"^ +(?:-\w, )?--([a-z][\w.-]*)", re.M)
SERVICES = ("koord-scheduler", "koord-manager", "koord-descheduler", "koordlet", "koord-device-daemon", "koord-runtime-proxy")
problems = []


def check(condition, text):
    if not condition:
        problems.append(text)


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    check(done.returncode == 0, f"{' '.join(command)}: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def read(*parts):
    with open(os.path.join(*parts)) as file:
        return file.read()


def module(source, name):
    if (folder := os.path.join(source, "packaging")) not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), os.path.join(source, "packaging", name + ".py"))
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def check_manuals(programs, source, folder):
    output(os.path.join(source, "packaging", "make-man.py"), "--programs", programs, "--output", folder, "--version", "1.2.3",
           "--date", "2001-02-03")
    shown = {("koordctl",)} | {(service,) for service in SERVICES}
    overview = output(os.path.join(programs, "koordctl"), "--help")
    commands = re.findall(r"^  (\w[\w-]*(?: \w[\w-]*)?)  +\S", overview.partition("Commands:\n")[2], re.M)
    check(len(commands) > 20, f"koordctl --help shows {len(commands)} commands")
    shown |= {("koordctl", *command.split()) for command in commands}
    pages = {os.path.basename(path) for path in glob.glob(os.path.join(folder, "man?", "*"))}
    flags = 0
    for words in sorted(shown):
        name = f"{'-'.join(words)}.{1 if words[0] == 'koordctl' else 8}"
        check(name in pages, f"no manual {name}")
        if name not in pages:
            continue
        page = read(folder, "man" + name[-1], name)
        help_ = output(os.path.join(programs, words[0]), *words[1:], "--help")
        for flag in FLAG.findall(help_):
            flags += 1
            check("\\fB\\-\\-" + flag.replace("-", "\\-") + "\\fR" in page, f"{name} does not have --{flag}")
        check('"2001-02-03" "koordinator 1.2.3"' in page, f"{name}: no date and version")
    check(len(pages) == len(shown), f"manuals of nothing: {sorted(pages - {'-'.join(words) for words in shown})}")
    check(flags > 500, f"only {flags} flags were compared")


def check_services(programs, source, folder):
    """The services start the programs with flags that these have, and with the variables of /etc/default."""
    configs = {"koord-scheduler": (), "koord-descheduler": ("0.0.0.0:10251=127.0.0.1:10261",)}
    for program, changes in configs.items():
        manifest = os.path.join(source, "deploy", "manifests", program.removeprefix("koord-") + "-config.yaml")
        file = os.path.join(folder, program + ".yaml")
        output(os.path.join(source, "packaging", "configmap.py"), manifest, program + "-config", file, *changes)
        output(os.path.join(programs, program), "--config", file, "--write-config-to", file + ".read")
        check("0.0.0.0" not in read(file + ".read"), f"{program}.yaml listens beyond loopback")
    for program in (*SERVICES, "koordctl"):
        unit = read(source, "deploy", "systemd", program + ("@" if program == "koordctl" else "") + ".service")
        start = re.search(r"^ExecStart=((?:.*\\\n)*.*)$", unit, re.M)
        check(start, f"{program}: no ExecStart")
        words = start.group(1).replace("\\\n", " ").split()
        check(words[0] == "/usr/bin/" + program, f"{program}: starts {words[0]}")
        help_ = output(os.path.join(programs, program), *(["up"] if program == "koordctl" else []), "--help")
        known = set(FLAG.findall(help_))
        defaults = read(source, "packaging", "default", program)
        variables = re.findall(r"\$([A-Z_]+)", " ".join(words))
        check(len(variables) == 1, f"{program}: its unit uses {variables}")
        for variable in variables:
            check(re.search(rf"^{variable}=", defaults, re.M), f"packaging/default/{program} does not set {variable}")
        check(f"EnvironmentFile=-/etc/default/{program}\n" in unit, f"{program}: its unit does not read /etc/default/{program}")
        for flag in re.findall(r"--([a-z][\w-]*)", " ".join(words) + " ".join(re.findall(r'^\w+="(.*)"', defaults, re.M))):
            check(flag in known, f"{program}: its service uses --{flag}, which it does not have")


def check_hardening(source):
    """Directives of systemd whose effect their names do not show."""
    for program in SERVICES:
        unit = read(source, "deploy", "systemd", program + ".service")
        # systemd 249 of Ubuntu 22.04 closes /dev/nvidia0 and the like with ProtectClock=yes, too.
        if program in ("koordlet", "koord-device-daemon"):
            closed = re.findall(r"^(?:ProtectClock|PrivateDevices|DeviceAllow|DevicePolicy)=.*", unit, re.M)
            check(not closed, f"{program} does not reach accelerators: {closed}")
        check("StartLimitIntervalSec=0\n" in unit, f"{program}: systemd does not restart it after some failures")
        check("CapabilityBoundingSet=" in unit and "NoNewPrivileges=yes" in unit, f"{program} has every capability")


def check_licences(programs, source):
    libraries = module(source, "libraries")
    seen = set()
    for program in (*SERVICES, "koordctl"):
        for file in libraries.of_program(os.path.join(programs, program)).values():
            package = libraries.package_of(file)
            licence = libraries.licence_of(package)
            check(not re.match(r"GPL-[\d.]+\+?$", licence), f"{program} loads {file}, which is under {licence}")
            seen.add(package)
    check("libc6" in seen and "libssl3" in seen, f"saw only the libraries of {sorted(seen)}")
    notices = libraries.notices(["/lib/x86_64-linux-gnu/libc.so.6"])
    for name in ("copyright/libc6", "licences/LGPL-2.1", "libraries"):
        check(len(notices.get(name, "")) > 500, f"the notices of libc6 do not have {name}")


def check_names(programs, source):
    lists = read(source, "packaging", "CMakeLists.txt")
    packages = set(re.findall(r"^koord_package\(([\w-]+)", lists, re.M)) | set(re.findall(r"COMPONENT ([a-z-]+)\)", lists))
    control = set(re.findall(r"^Package: (\S+)", read(source, "packaging", "debian", "control"), re.M))
    check(packages == control, f"packages of CMakeLists.txt and debian/control: {sorted(packages ^ control)}")
    for script in glob.glob(os.path.join(source, "packaging", "debian", "*.postrm")):
        check(os.path.basename(script).removesuffix(".postrm") in control, f"{script}: of no package")
        output("sh", "-n", script)
    version = output(os.path.join(source, "scripts", "version.sh")).strip()
    number = re.search(r"^project\(koordinator VERSION ([\d.]+)", read(source, "CMakeLists.txt"), re.M).group(1)
    check(re.fullmatch(re.escape(number) + r"([+-]\d+(\.g[0-9a-f]{8,})?(\.dirty)?)?", version), f"version.sh prints {version}")
    check(f"koordctl {number}" in output(os.path.join(programs, "koordctl"), "version"), "koordctl version")


def check_symbols(programs, source):
    tarball = module(source, "make-tarball")
    for program in (*SERVICES, "koordctl"):
        path = os.path.join(programs, program)
        needed = tarball.needed_versions(path)
        check(len(needed) > 50, f"{program}: read only {len(needed)} symbols")
        check(not tarball.too_new(path), f"{program} needs what Ubuntu 22.04 does not have: {sorted(tarball.too_new(path))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", required=True)
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check_manuals(options.programs, options.source, os.path.join(folder, "man"))
        check_services(options.programs, options.source, folder)
    check_names(options.programs, options.source)
    check_symbols(options.programs, options.source)
    check_hardening(options.source)
    check_licences(options.programs, options.source)
    if problems:
        sys.exit("\n".join(problems))
    print("packaging: contents are as they should be")


if __name__ == "__main__":
    main()
