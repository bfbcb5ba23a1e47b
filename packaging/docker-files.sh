#!/usr/bin/env bash
# docker-files.sh BUILD OUTPUT: what the images of the Dockerfile have, in folders of OUTPUT: `packages` after `make deb
# tarball`, `koordinator` (the tar archive), and one for each program that has an image.
set -euo pipefail
build=$1 out=$2
cd "$(dirname "$0")/.."

mkdir -p "$out/packages" "$out/koordinator"
archive=build/koordinator-$(scripts/version.sh)-linux-amd64.tar.gz
cp build/deb/*.deb "$archive" "$out/packages/"
tar -xzf "$archive" -C "$out/koordinator" --strip-components=1
while read -r name _; do
  packaging/make-image.py "$build/bin/$name" "$out/$name" --folder
done < "$build/packaging/images.txt"
