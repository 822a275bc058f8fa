#!/usr/bin/env bash
# packaging/try.sh DEB WHEELS ARCHIVE: in a fresh Debian 12: the package installs, its commands answer, pages
# open, shells complete; the wheel and what it needs, in the folder WHEELS, install into an environment
# and answer the same; `./dev test` brings what a fresh machine lacks. The command of the archive answers in a
# root that has nothing else. Needs root and Debian's archive.
set -euo pipefail
deb=$(realpath "$1")
wheels=$(realpath "$2")
archive=$(realpath "$3")
tree=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
root=$(mktemp -d)
chmod 755 "$root"
trap 'umount "$root/proc" 2> /dev/null; rm -rf --one-file-system "$root"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
inside() { chroot "$root" env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin MANWIDTH=80 "$@"; }

tar -C "$root" --strip-components=1 -xf "$archive"
chroot "$root" /plimsoll estimate builtin:resnet50 --gpu rtx-4090 --batch 128 | grep -q FITS || fail "the archive's command alone"
rm -rf "${root:?}"/*

debootstrap --variant=minbase --include=man-db,bash-completion bookworm "$root" > "$root.log" 2>&1 ||
  { tail "$root.log"; fail "debootstrap"; }
rm "$root.log"
mount -t proc proc "$root/proc" || fail "no /proc can be mounted"
cp "$deb" "$root/tmp/"
inside apt-get install -y -q --no-install-recommends "/tmp/$(basename "$deb")"
inside plimsoll estimate builtin:resnet50 --gpu rtx-4090 --batch 128 | head -n 2
inside plimsoll-calibrate --version
inside plimsoll-monitor --quiet -- sleep 0.5 || fail "plimsoll-monitor"
status=0
inside plimsoll-calibrate run --model builtin:alexnet --batch 8 || status=$?
[ "$status" = 4 ] || fail "plimsoll-calibrate run without a GPU ends with $status"
for page in plimsoll plimsoll-estimate plimsoll-max-batch plimsoll-calibrate plimsoll-monitor; do
  inside man "$page" | grep -q "^NAME" || fail "man $page"
done
inside bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader plimsoll
  COMP_WORDS=(plimsoll estimate builtin:resnet50 --gpu rtx-409); COMP_CWORD=4
  COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}; _plimsoll; printf "%s\n" "${COMPREPLY[@]}"' |
  grep -qx rtx-4090 || fail "bash completes no GPU"
inside test -s /usr/share/doc/plimsoll/copyright || fail "no notices"
inside apt-get install -y -q --no-install-recommends python3-venv > /dev/null
cp -r "$wheels" "$root/tmp/wheels"
inside python3 -m venv /opt/venv
inside /opt/venv/bin/pip install --quiet --no-index --find-links /tmp/wheels plimsoll-gpu
inside plimsoll estimate builtin:resnet50 --gpu rtx-4090 --batch 128 --json > "$root/tmp/said"
inside /opt/venv/bin/plimsoll estimate builtin:resnet50 --gpu rtx-4090 --batch 128 --json | cmp - "$root/tmp/said" ||
  fail "the wheel's command"
inside /opt/venv/bin/python -c 'import plimsoll
print(plimsoll.estimate("builtin:resnet50", gpu="rtx-4090", batch=128).to_json(), end="")' | cmp - "$root/tmp/said" ||
  fail "the wheel's package"
inside apt-get purge -y -q plimsoll > /dev/null
! inside ls /usr/bin/plimsoll 2> /dev/null || fail "it stays where it is removed"

# The README's second command, those of its entries that Debian's archive is enough for. What was built
# here goes along, at the same place: the same compilers need not do it again.
inside apt-get install -y -q --no-install-recommends git ca-certificates > /dev/null
mkdir -p "$root$tree/build"
git -C "$tree" ls-files -z | tar -C "$tree" --null --files-from - --create | tar -C "$root$tree" --extract
for made in .git build/release build/dev build/vega build/cudnn; do
  [ ! -e "$tree/$made" ] || cp -a "$tree/$made" "$root$tree/$made"
done
inside bash -c "cd '$tree' && ./dev test '^(unit|command_line|consumer|browser)\$'" || fail "./dev test"
echo "passed"
