#!/usr/bin/env bash
# packaging/try_static.sh ARCHIVE: the command of `./dev package`'s archive needs nothing of the system that it runs on. It
# answers in a root that holds the archive alone: no shell and no C library, so that it does not matter which one a
# distribution has (Alpine's is another). Then in Ubuntu 22.04, as a user of that would run it, where debootstrap has
# Ubuntu's keys (package ubuntu-archive-keyring, or a file that UBUNTU_KEYRING names). Needs root and Ubuntu's archive.
set -euo pipefail
archive=$(realpath "$1")
keyring=${UBUNTU_KEYRING:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}
root=$(mktemp -d)
chmod 755 "$root"
trap 'umount "$root"/ubuntu/{proc,sys} 2> /dev/null || true; rm -rf --one-file-system "$root"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
question=(estimate builtin:resnet50 --gpu rtx-4090 --batch 128)

mkdir "$root/bare"
tar -C "$root/bare" --strip-components=1 -xf "$archive"
chroot "$root/bare" /plimsoll "${question[@]}" | grep FITS > /dev/null || fail "the archive's command alone"
chroot "$root/bare" /plimsoll "${question[@]}" --json > "$root/said"
chroot "$root/bare" /plimsoll "${question[@]}" --html /report.html > /dev/null
grep -q 'id="vega"' "$root/bare/report.html" || fail "its report has no charts"
status=0
chroot "$root/bare" /plimsoll estimate builtin:alexnet 2> "$root/local" || status=$?
[ "$status" = 2 ] && grep -q E109 "$root/local" || fail "without a GPU it ends with $status: $(cat "$root/local")"
echo "bare root: passed"

[ -s "$keyring" ] || { echo "Ubuntu: not run, $keyring is not there"; exit 0; }
debootstrap --variant=minbase --keyring="$keyring" jammy "$root/ubuntu" > "$root/log" 2>&1 || { tail "$root/log"; fail "debootstrap"; }
tar -C "$root/ubuntu/usr/local/bin" --strip-components=1 -xf "$archive" --wildcards '*/plimsoll'
inside() { chroot "$root/ubuntu" env -i HOME=/root PATH=/usr/local/bin:/usr/bin:/bin "$@"; }
inside bash -c 'eval "$(plimsoll completion bash)" && cd && plimsoll estimate builtin:gpt2 --gpu t4 --batch 4' | sed -n 1,2p
inside plimsoll "${question[@]}" --json | cmp - "$root/said" || fail "the answer in Ubuntu"
echo "Ubuntu: passed"
