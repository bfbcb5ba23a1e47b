#!/usr/bin/env python3
"""Makes a tar archive of a build that runs without an installation on Debian 12 and 13, and on Ubuntu 22.04 and 24.04:

    make-tarball.py BUILD OUTPUT.tar.gz [--date SECONDS]

Of the host the programs use the C and C++ libraries, which each of these systems has, new enough (SYSTEM, GLIBC). All
other libraries are copied from this host to lib/koordinator, where the programs look for them first. Libraries that
need a newer C library are adapted (lend_symbols). The same build gives the same bytes.
"""

import argparse
import gzip
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

import libraries

# Ubuntu 22.04 has the oldest ones: glibc 2.35, and libstdc++ of GCC 12.
GLIBC = (2, 35)
GLIBCXX = (3, 4, 30)
SYSTEM = re.compile(r"(libc|libm|libresolv|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux-x86-64|linux-vdso)\.so\.\d+$")
PRIVATE = "lib/koordinator"
DOCUMENTS = "share/doc/koordinator"
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Functions that glibc has since 2.36. Their replacements ask the kernel, as those of glibc do.
LENT = "libkoord-glibc.so.1"
LENT_SOURCE = r"""
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

void arc4random_buf(void *to, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = getrandom((char *)to + done, size - done, 0);
    if (got < 0 && errno != EINTR) abort(); /* as glibc: there is nothing else to return */
    if (got > 0) done += (size_t)got;
  }
}

uint32_t arc4random(void) {
  uint32_t value;
  arc4random_buf(&value, sizeof value);
  return value;
}
"""
LENT_SYMBOLS = {"arc4random", "arc4random_buf"}


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def needed_versions(path):
    """{(version, symbol)} that a program or library requires of others, such as ("GLIBC_2.34", "pthread_join")."""
    return {(match.group(1), match.group(2))
            for match in re.finditer(r"\*UND\*\s+\S+\s+\(?((?:GLIBC|GLIBCXX|CXXABI|GCC)_[\w.]+)\)?\s+(\S+)", run("objdump", "-T", path))}


def number_of(version):
    return tuple(int(part) for part in version.split("_", 1)[1].split(".") if part.isdigit())


def too_new(path):
    limits = {"GLIBC": GLIBC, "GLIBCXX": GLIBCXX}
    return {(version, symbol) for version, symbol in needed_versions(path)
            if (limit := limits.get(version.split("_")[0])) and number_of(version) > limit}


def libraries_of(programs):
    """{name: file of this host} of what the programs load and SYSTEM does not have."""
    return {name: file for program in programs for path, file in libraries.of_program(program).items()
            if not SYSTEM.match(name := os.path.basename(path))}


def elf_hash(name):
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high
    return value & 0xFFFFFFFF


def section(data, wanted):
    """(offset, size, link) of a section of a 64-bit ELF file."""
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + at * size) for at in range(count)]
    for header in headers:
        start = headers[names][4] + header[0]
        if data[start:data.index(b"\0", start)] == wanted.encode():
            return header[4], header[5], headers[header[6]]
    raise SystemExit(f"no section {wanted}")


def ask_for_older(path, version, older="GLIBC_2.2.5"):
    """Renames a version that the library requires of glibc into one that each glibc has. The name alone decides whether
    the loader accepts the library; a symbol without a version, as those of LENT, matches any."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    offset, size, strings = section(data, ".gnu.version_r")
    text = lambda at: data[strings[4] + at:data.index(b"\0", strings[4] + at)].decode()
    entries = []
    need = offset
    while True:
        _, count, _, first, following = struct.unpack_from("<HHIII", data, need)
        at = need + first
        for _ in range(count):
            _, _, _, name, step = struct.unpack_from("<IHHII", data, at)
            entries.append((at, text(name), name))
            at += step
        if not following:
            break
        need += following
    names = {text_: name for _, text_, name in entries}
    if older not in names:
        raise SystemExit(f"{path}: does not require {older}")
    for at, text_, _ in entries:
        if text_ == version:
            struct.pack_into("<I", data, at, elf_hash(older))
            struct.pack_into("<I", data, at + 8, names[older])
    with open(path, "wb") as file:
        file.write(data)


def lend_symbols(folder, name):
    """Makes a library run with an older glibc, if all that it misses is in LENT."""
    path = os.path.join(folder, name)
    missing = too_new(path)
    if not missing:
        return
    unknown = sorted(f"{symbol} of {version}" for version, symbol in missing if symbol not in LENT_SYMBOLS)
    if unknown:
        raise SystemExit(f"{name} needs what glibc {'.'.join(map(str, GLIBC))} does not have: {', '.join(unknown)}")
    for version in {version for version, _ in missing}:
        ask_for_older(path, version)
    run("patchelf", "--add-needed", LENT, path)
    if not os.path.exists(os.path.join(folder, LENT)):
        run("cc", "-O2", "-shared", "-fPIC", "-s", "-Wl,--build-id=none", f"-Wl,-soname,{LENT}", "-x", "c", "-",
            "-o", os.path.join(folder, LENT), input=LENT_SOURCE)


def fill(build, root):
    """The contents of the archive."""
    subprocess.run(["cmake", "--install", build, "--prefix", root], check=True, stdout=subprocess.DEVNULL)
    private = os.path.join(root, PRIVATE)
    os.makedirs(private)
    programs = [os.path.join(root, "bin", name) for name in sorted(os.listdir(os.path.join(root, "bin")))]
    for program in programs:
        if problems := too_new(program):
            raise SystemExit(f"{program}: {sorted(problems)}")
    brought = libraries_of(programs)
    for name, path in sorted(brought.items()):
        shutil.copyfile(path, os.path.join(private, name))
        os.chmod(os.path.join(private, name), 0o755)
        lend_symbols(private, name)
    for name, content in libraries.notices(brought.values()).items():
        path = os.path.join(root, DOCUMENTS, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
    for file in ("LICENSE", "README.md"):
        shutil.copyfile(os.path.join(SOURCE, file), os.path.join(root, DOCUMENTS, file))
    for program in programs:
        run("strip", program)
        # DT_RPATH, which also counts for what a library of these needs.
        run("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/../" + PRIVATE, program)
    # Where an archive is installed, if it is: /usr/local.
    zsh = os.path.join(root, "share", "zsh")
    os.rename(os.path.join(zsh, "vendor-completions"), os.path.join(zsh, "site-functions"))
    for folder, _, files in os.walk(os.path.join(root, "lib", "systemd")):
        for name in files:
            path = os.path.join(folder, name)
            with open(path) as file:
                text = file.read()
            with open(path, "w") as file:
                file.write(text.replace("/usr/bin/", "/usr/local/bin/"))


def pack(root, name, output, date):
    """A tar archive without the owners and times of this host."""
    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = date
        entry.mode = 0o755 if entry.mode & 0o100 else 0o644
        return entry

    paths = []
    for folder, folders, files in os.walk(root):
        paths += [os.path.join(folder, file) for file in files + [one for one in folders if os.path.islink(os.path.join(folder, one))]]
    with open(output, "wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=date) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(paths):
            archive.add(path, os.path.join(name, os.path.relpath(path, root)), recursive=False, filter=plain)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("output")
    parser.add_argument("--date", type=int, default=0, help="time of the files, in seconds since 1970")
    options = parser.parse_args()
    for tool in ("patchelf", "objdump", "strip", "cc"):
        if not shutil.which(tool):
            sys.exit(f"error: {tool} is missing; run scripts/install-packages.sh patchelf binutils gcc")
    name = os.path.basename(options.output).removesuffix(".tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, name)
        fill(options.build, root)
        os.makedirs(os.path.dirname(os.path.abspath(options.output)), exist_ok=True)
        pack(root, name, options.output, options.date)
    print(f"{options.output}: {os.path.getsize(options.output) / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
