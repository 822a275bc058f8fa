#!/usr/bin/env bash
# packaging/homebrew/formula.sh HOMEPAGE URL ARCHIVE: the formula of the archive that can be had at URL, on standard output.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
[ $# -eq 3 ] || { sed -n 2p "$0" >&2; exit 2; }
homepage=$1 url=$2 archive=$3
version=$(sed -nE 's/^project\(plimsoll VERSION ([0-9.]+).*/\1/p' ../../CMakeLists.txt)
sum=$(sha256sum "$archive" | cut -d ' ' -f 1)
sed "s|@HOMEPAGE@|$homepage|; s|@URL@|$url|; s|@SHA256@|$sum|; s|@VERSION@|$version|" plimsoll-gpu.rb.in
