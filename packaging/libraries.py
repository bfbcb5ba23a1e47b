"""The libraries that the archive and the images bring with them: where they are, their licences, their sources.

A library that is not in LICENCES stops make-tarball.py, make-image.py and the test `packaging`: look at its licence
first. The programs are under Apache-2.0, which cannot be distributed together with what is under the GPL alone. What is
under the LGPL may be, as a library of its own that users can replace, with its licence, and with its source beside it
(sources.sh).
"""

import os
import re
import subprocess

# By Debian package. "or" is a choice of whoever distributes it.
LICENCES = {
    "ca-certificates": "MPL-2.0",  # the certificates
    "libabsl20220623": "Apache-2.0", "libacl1": "LGPL-2.1+", "libarchive13": "BSD-2-Clause", "libboost-json1.81.0": "BSL-1.0",
    "libboost-url1.81.0": "BSL-1.0", "libbrotli1": "MIT", "libbz2-1.0": "bzip2", "libc-ares2": "MIT", "libc6": "LGPL-2.1+",
    "libcom-err2": "MIT", "libcurl4": "curl", "libffi8": "MIT", "libfmt9": "MIT", "libgcc-s1": "GPL-3+ with GCC-exception-3.1",
    "libgmp10": "LGPL-3+ or GPL-2+", "libgnutls30": "LGPL-2.1+", "libgrpc++1.51": "Apache-2.0", "libgrpc29": "Apache-2.0",
    "libgssapi-krb5-2": "MIT", "libhogweed6": "LGPL-3+ or GPL-2+", "libicu72": "ICU", "libidn2-0": "LGPL-3+ or GPL-2+",
    "libjemalloc2": "BSD-2-Clause", "libk5crypto3": "MIT", "libkeyutils1": "LGPL-2+", "libkrb5-3": "MIT", "libkrb5support0": "MIT",
    "libldap-2.5-0": "OLDAP-2.8", "liblz4-1": "BSD-2-Clause", "liblzma5": "public domain", "libmnl0": "LGPL-2.1+",
    "libncursesw6": "MIT", "libnettle8": "LGPL-3+ or GPL-2+", "libnghttp2-14": "MIT", "libp11-kit0": "BSD-3-Clause",
    "libprometheus-cpp-core1.0": "MIT", "libprotobuf-lite32": "BSD-3-Clause", "libprotobuf32": "BSD-3-Clause", "libpsl5": "MIT",
    "libre2-9": "BSD-3-Clause", "librtmp1": "LGPL-2.1+", "libsasl2-2": "BSD-4-Clause-CMU", "libspdlog1.10": "MIT",
    "libsqlite3-0": "public domain", "libssh2-1": "BSD-3-Clause", "libssl3": "Apache-2.0",
    "libstdc++6": "GPL-3+ with GCC-exception-3.1", "libtasn1-6": "LGPL-2.1+", "libtinfo6": "MIT",
    "libunistring2": "LGPL-3+ or GPL-2+", "libxml2": "MIT", "libyaml-cpp0.7": "MIT", "libzstd1": "BSD-3-Clause", "zlib1g": "Zlib",
}
COMMON = "/usr/share/common-licenses/"
HEADER = """\
# The libraries that this brings with it, from Debian packages: package, version, source, version of the source, licence.
# copyright/PACKAGE has the notices, licences/ the texts that they name. A source is what `apt-get source SOURCE=VERSION`
# of that Debian release downloads, and https://snapshot.debian.org/package/SOURCE/VERSION/ has it.
# If you distribute this to others, offer the sources of the libraries under the GPL or the LGPL in the same place:
# packaging/sources.sh of Koordinator downloads them by this list.
"""


def of_program(program):
    """{path that the loader uses: file of this host} of the libraries of a program or library."""
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    if "not found" in listed:
        raise SystemExit(f"{program}: a library is missing:\n{listed}")
    return {path: os.path.realpath(path) for path in re.findall(r"(/\S+) \(0x", listed)}


def package_of(library):
    """The Debian package that a file is from. dpkg knows it with or without /usr."""
    for path in (library, library.removeprefix("/usr")):
        done = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise SystemExit(f"{library}: which package has it?")


def licence_of(package):
    if not (licence := LICENCES.get(package)):
        raise SystemExit(f"{package}: its licence is not known; read /usr/share/doc/{package}/copyright, then packaging/libraries.py")
    return licence


def notices(files, packages=()):
    """{path: bytes} of what has to go with these libraries, and with what is of these packages: notices, licences, and
    where the sources are."""
    result, table, texts = {}, [], {"Apache-2.0"}
    for package in sorted({package_of(file) for file in files} | set(packages)):
        with open(f"/usr/share/doc/{package}/copyright", "rb") as file:
            result[f"copyright/{package}"] = file.read()
        texts |= set(re.findall(COMMON + r"([\w.-]*\w)", result[f"copyright/{package}"].decode(errors="replace")))
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version} ${source:Package} ${source:Version}\n", package],
                                 check=True, capture_output=True, text=True).stdout.splitlines()[0]
        table.append(f"{version} {licence_of(package)}\n")
    for name in texts:
        if os.path.exists(COMMON + name):  # a notice may name a file that Debian does not have
            with open(COMMON + name, "rb") as file:
                result[f"licences/{name}"] = file.read()
    result["libraries"] = (HEADER + "".join(table)).encode()
    return result
