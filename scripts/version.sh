#!/usr/bin/env bash
# version.sh [--debian]: prints the version of this source: project(VERSION) of CMakeLists.txt, and by git describe how
# far the source is from the tag of that version:
#   0.1.0                   the commit that is tagged v0.1.0, or a source without git
#   0.1.0+5.gabcdef12       five commits after it
#   0.1.0-1725.gabcdef12    there is no such tag: 1,725 commits on the way to 0.1.0
# A source with changes that are not committed has ".dirty" at the end. With --debian the - of the last line is ~, which
# dpkg sorts before 0.1.0. Fails if this is a work tree of git that git cannot read: it would look like a release.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^project(koordinator VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -n "$version" ] || { echo "error: CMakeLists.txt: no project(koordinator VERSION ...)" >&2; exit 1; }
if [ -e .git ]; then
  git rev-parse --git-dir >/dev/null || { echo "error: the version is not known, because git cannot read this work tree" >&2; exit 1; }
  if since=$(git describe --tags --long --abbrev=8 --match "v$version" --dirty=.dirty 2>/dev/null); then
    since=${since#"v$version"-}  # 5-gabcdef12
    case $since in
      0-g*.dirty) version+=+0.dirty ;;
      0-g*) ;;
      *) version+=+${since/-/.} ;;
    esac
  else
    # The hash, since no tag matches.
    hash=$(git describe --always --abbrev=8 --match '' --dirty=.dirty)
    version+=-$(git rev-list --count HEAD).g$hash
  fi
fi
[ "${1:-}" = --debian ] && version=${version/-/\~}
echo "$version"
