#!/usr/bin/env bash
# sources.sh LIST FOLDER: downloads the sources of all libraries under the GPL or the LGPL that LIST names, which is
# share/doc/koordinator/libraries of the archive or of an image. It asks the mirrors of this host, for their sources.
set -euo pipefail
list=$(realpath "$1") folder=$2

apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$folder" "$apt/lists/partial" "$apt/cache/archives/partial"
# Both formats of apt's lists.
{ grep -hE '^deb ' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } |
  sed 's/^deb /deb-src /' > "$apt/sources.list"
mkdir "$apt/parts"
for file in /etc/apt/sources.list.d/*.sources; do
  [ ! -e "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" > "$apt/parts/$(basename "$file")"
done
options=(-q -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache"
  -o "Dir::Etc::sourcelist=$apt/sources.list" -o "Dir::Etc::sourceparts=$apt/parts")
apt-get "${options[@]}" update
cd "$folder"
grep -v '^#' "$list" | awk '/GPL/ { print $3 "=" $4 }' | sort -u |
  xargs apt-get "${options[@]}" source --download-only
