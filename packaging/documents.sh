#!/usr/bin/env bash
# packaging/documents.sh VERSION OUT: what goes with binaries into OUT: `copyright`, ours and the
# notices of what is linked statically, as Debian has them beside the libraries; the change logs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
version=$1 out=$2
mkdir -p "$out"
compiler=$(g++ -dumpversion | cut -d . -f 1)
linked=(libc6-dev "libstdc++-$compiler-dev" libprotobuf-dev libyaml-cpp-dev nettle-dev zlib1g-dev libfmt-dev
  libexpected-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libeigen3-dev)
{
  printf 'Plimsoll\n\n'
  cat ../LICENSE
  printf '\nThe programs have the following in them, each under its own terms.\n'
  for package in "${linked[@]}"; do
    [ -f "/usr/share/doc/$package/copyright" ] || { echo "no notice of $package" >&2; exit 1; }
    printf '\n==== %s %s\n\n' "$package" "$(dpkg-query -W -f '${Version}' "$package")"
    cat "/usr/share/doc/$package/copyright"
  done
  printf '\n==== Vega\n\n'
  cat vega.txt
} > "$out/copyright"
date=$(LC_ALL=C date -u -R -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || date +%s)}")
gzip -9n < ../CHANGELOG.md > "$out/changelog.gz"
gzip -9n > "$out/changelog.Debian.gz" << END
plimsoll ($version-1) unstable; urgency=medium

  * What changed is in changelog.gz.

 -- The Plimsoll authors <maintainers@users.noreply.a-seed-96918823.example>  $date
END
