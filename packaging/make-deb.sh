#!/usr/bin/env bash
# make-deb.sh BUILD OUTPUT: makes Debian packages of a build (build.sh) in OUTPUT, by debhelper. The same programs give
# the same bytes. The packages are for the release of Debian that this host has, whose libraries the programs use.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1") output=$2

version=$(scripts/version.sh --debian)
SOURCE_DATE_EPOCH=$(packaging/date.sh)
export SOURCE_DATE_EPOCH KOORD_BUILD=$build
source=$output/koordinator-$version
rm -rf "$source"
rm -f "$output"/koord*.deb "$output"/koordinator_*.{buildinfo,changes}
mkdir -p "$source"
cp -r packaging/debian "$source/debian"
cat > "$source/debian/changelog" <<END
koordinator ($version) unstable; urgency=medium

  * Built from $(scripts/version.sh).

 -- $(sed -n 's/^Maintainer: //p' packaging/debian/control)  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
log=$output/build.log
if ! (cd "$source" && dpkg-buildpackage --build=binary --unsigned-changes --no-pre-clean) >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "error: the packages could not be made; $log has more" >&2
  exit 1
fi
rm -rf "$source"
ls "$output"/*.deb
