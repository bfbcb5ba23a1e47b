#!/usr/bin/env bash
# install-packages.sh [PACKAGE...]: installs the Debian packages that building and running need, or the given ones. Does
# nothing when all are there.
set -euo pipefail

packages=(
  # build
  g++ cmake ninja-build ccache mold make pkg-config
  # libraries
  libboost1.81-dev libboost-json1.81-dev libboost-url1.81-dev libcurl4-openssl-dev libssl-dev
  libsqlite3-dev libarchive-dev libyaml-cpp-dev libfmt-dev libspdlog-dev libcli11-dev
  prometheus-cpp-dev libre2-dev libabsl-dev libncurses-dev libmnl-dev libnftables1
  libgrpc++-dev libnghttp2-dev zlib1g-dev libzstd-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc libjemalloc-dev
  # tests
  libgtest-dev libgmock-dev python3 nghttp2-server clang-format-19 zstd zsh fish tmux
)
# The optional runtime of the host node, and the image that it starts.
runtime=(containerd runc busybox-static)
if [ $# -gt 0 ]; then
  packages=("$@")
  runtime=()
fi

missing=()
for package in "${packages[@]}" "${runtime[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
# Any kubectl will do; Debian's package is taken when there is none.
[ $# -gt 0 ] || command -v kubectl >/dev/null || missing+=(kubernetes-client)
# For the page of the console. Any node from version 18 will do; without it the programs have a page that says so.
[ $# -gt 0 ] || [ "${KOORD_CONSOLE:-on}" = off ] || command -v npm >/dev/null || missing+=(nodejs npm)

[ ${#missing[@]} -eq 0 ] && exit 0

sudo=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "error: these packages are missing and installing them needs root: ${missing[*]}" >&2
    echo "       run this as root, or install them first: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  sudo=(sudo)
fi
if ! command -v apt-get >/dev/null; then
  echo "error: apt-get was not found; this script knows Debian 12. Needed: ${missing[*]}" >&2
  exit 1
fi

echo "installing ${#missing[@]} Debian packages: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${sudo[@]}" apt-get update -q &&
       "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
         apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "error: apt-get could not install: ${missing[*]}" >&2
  exit 1
fi
