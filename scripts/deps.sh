#!/bin/bash
# Installs the Debian packages that building needs; does nothing if they are all there.
set -euo pipefail

# ca-certificates: git fetches the Swift packages by https. python3: fixtures/generate.py, which `make lint` runs.
packages=(libinotifytools0-dev libsqlite3-dev zlib1g-dev rsync make git ca-certificates python3)

fail() {
    echo "shoebox: $1" >&2
    echo "hint: $2" >&2
    exit 1
}

if ! command -v swift >/dev/null; then
    fail "there is no Swift toolchain" "Install Swift 6.1 or newer from https://www.swift.org/install/linux/."
fi
if ! command -v dpkg >/dev/null; then
    fail "this is not a Debian machine, so nothing was installed" \
        "Install libinotifytools, SQLite and zlib with their headers, rsync, make, git and python3, then run 'make build'."
fi

missing=()
for package in "${packages[@]}"; do
    dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok installed$' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

command -v apt-get >/dev/null || fail "there is no apt-get to install ${missing[*]}" "Install them yourself."
root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "installing ${missing[*]} needs root, and there is no sudo" \
        "Run as root: apt-get install ${missing[*]}"
    root=(sudo)
fi
echo "Installing ${missing[*]}"
"${root[@]}" apt-get update || echo "shoebox: the package lists could not be updated; trying with the old ones" >&2
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" ||
    fail "${missing[*]} could not be installed" "See what apt-get says above; then run 'make deps' again."
