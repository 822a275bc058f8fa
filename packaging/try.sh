#!/usr/bin/env bash
# packaging/try.sh DEB WHEELS ARCHIVE: in a fresh Debian 12: the package installs, its commands answer, pages
# open, shells complete; the wheel and what it needs, in the folder WHEELS, install into an environment
# and answer the same; a clone is installed by pip; `./dev test` brings what a fresh machine lacks. The command of the
# archive answers elsewhere (packaging/try_static.sh). Needs root, Debian's archive and the package index.
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

"$tree/packaging/try_static.sh" "$archive"

debootstrap --variant=minbase --include=man-db,bash-completion bookworm "$root" > "$root.log" 2>&1 ||
  { tail "$root.log"; fail "debootstrap"; }
rm "$root.log"
mount -t proc proc "$root/proc" || fail "no /proc can be mounted"
cp "$deb" "$root/tmp/"
inside apt-get install -y -q --no-install-recommends "/tmp/$(basename "$deb")"
inside plimsoll estimate builtin:resnet50 --gpu rtx-4090 --batch 128 | sed -n 1,2p
inside plimsoll-calibrate --version
inside plimsoll-monitor --quiet -- sleep 0.5 || fail "plimsoll-monitor"
status=0
inside plimsoll-calibrate run --model builtin:alexnet --batch 8 || status=$?
[ "$status" = 4 ] || fail "plimsoll-calibrate run without a GPU ends with $status"
for page in plimsoll plimsoll-estimate plimsoll-max-batch plimsoll-calibrate plimsoll-monitor; do
  inside man "$page" | grep "^NAME" > /dev/null || fail "man $page"
done
inside bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader plimsoll
  COMP_WORDS=(plimsoll estimate builtin:resnet50 --gpu rtx-409); COMP_CWORD=4
  COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}; _plimsoll; printf "%s\n" "${COMPREPLY[@]}"' |
  grep -x rtx-4090 > /dev/null || fail "bash completes no GPU"
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

# What a clone is asked for. What was built here goes along, at the same place: the same compilers need not do it again.
inside apt-get install -y -q --no-install-recommends git ca-certificates > /dev/null
mkdir -p "$root$tree/build"
git -C "$tree" ls-files -z | tar -C "$tree" --null --files-from - --create | tar -C "$root$tree" --extract
for made in .git build/release build/dev build/ship build/vega build/cudnn; do
  [ ! -e "$tree/$made" ] || cp -a "$tree/$made" "$root$tree/$made"
done
# What CMake found is of this machine, and so are the headers of the system that Clang compiled.
rm -f "$root$tree"/build/*/CMakeCache.txt "$root$tree"/build/*/build.ninja
find "$root$tree/build" -name '*.pch' -delete
# The package, by the README's command. How pip finds its index is the machine's affair.
mapfile -t pip < <(env | grep '^PIP_[A-Z_]*=' || true)
for given in "${pip[@]}"; do
  file=${given#*=}
  [ ! -f "$file" ] || install -D -m 644 "$file" "$root$file"
done
inside env "${pip[@]}" bash -c "cd '$tree' && ./dev packages && python3 -m venv build/env && build/env/bin/pip install --quiet ." ||
  fail "pip install ."
inside "$tree/build/env/bin/plimsoll" estimate builtin:resnet50 --gpu rtx-4090 --batch 128 --json | cmp - "$root/tmp/said" ||
  fail "the command of pip install ."
# The tests that Debian's archive is enough for.
inside bash -c "cd '$tree' && ./dev test '^(unit|command_line|consumer|browser)\$'" || fail "./dev test"
echo "passed"
