#!/usr/bin/env bash
# vm-kernel.sh [FOLDER]: what tests/vm needs: QEMU, and Debian's cloud kernel unpacked into FOLDER (default
# build/release/vm). That kernel is not installed as this machine's own.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/release/vm}

command -v qemu-system-x86_64 >/dev/null ||
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends qemu-system-x86
package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)
[ -n "$package" ] || { echo "error: apt knows no linux-image-cloud-amd64; run apt-get update" >&2; exit 1; }
download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT
chmod 755 "$download"
(cd "$download" && apt-get download -q "$package")
mkdir -p "$folder"
dpkg -x "$download"/*.deb "$folder"
echo "$package is in $folder"
