#!/usr/bin/env bash
# tests/install/consumer.sh: what `cmake --install` leaves is used as others would: by find_package
# and by pkg-config, moved elsewhere, with every warning an error. Needs PLIMSOLL_BINARY, a built one,
# or is reported as not run.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../support/not_run.sh"
[ -n "${PLIMSOLL_BINARY:-}" ] || not_run "PLIMSOLL_BINARY is not set; './dev test' sets it"
source=$(realpath "$here/../..")
build=$(dirname "$(realpath "$PLIMSOLL_BINARY")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wundef -Werror"

cmake --install "$build" --prefix "$work/first" > "$work/log" || { cat "$work/log"; fail "install"; }
mv "$work/first" "$work/prefix"
prefix=$work/prefix

# Neither how it was compiled nor where it was built leaves the build.
described=("$prefix"/lib*/cmake/plimsoll/* "$prefix"/lib*/pkgconfig/plimsoll.pc)
! grep -nE -- "-W|-O[0-9]|COMPILE_OPTIONS|COMPILE_DEFINITIONS|$source|$build|$work" "${described[@]}" ||
  fail "what describes the library says too much"
! grep -hE '^#include' "$prefix/include/plimsoll/plimsoll.h" | grep -vE '<[a-z]+>$' ||
  fail "the header includes more than the standard library"
[ "$(find "$prefix/include" -type f | wc -l)" = 1 ] || fail "one header is installed"

# shellcheck disable=SC2086
cmake -G Ninja -S "$source/examples" -B "$work/example" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_STANDARD=17 \
  -DCMAKE_CXX_FLAGS="$warnings" > "$work/log" || { cat "$work/log"; fail "find_package"; }
cmake --build "$work/example" > "$work/log" || { cat "$work/log"; fail "the example"; }
"$work/example/ask_plimsoll" > "$work/said"
grep -q '^tesla-t4: [0-9.]* GiB, ' "$work/said" && grep -q '^rtx-4090: .* ms a step$' "$work/said" ||
  fail "the example says $(cat "$work/said")"
# A version that is not to come is refused.
sed 's/plimsoll 0.1/plimsoll 9.9/' "$source/examples/CMakeLists.txt" > "$work/CMakeLists.txt"
cp "$source/examples/main.cc" "$work"
! cmake -G Ninja -S "$work" -B "$work/later" -DCMAKE_PREFIX_PATH="$prefix" > "$work/log" 2>&1 ||
  fail "another version is taken for ours"

export PKG_CONFIG_PATH=$(echo "$prefix"/lib*/pkgconfig)
# shellcheck disable=SC2046,SC2086
g++ -std=c++17 $warnings -o "$work/check" "$here/check.cc" $(pkg-config --cflags --libs plimsoll)
(cd "$work" && ./check) || fail "check"
"$work/check" builtin:resnet50 gpu=a100 batch=64 precision=amp-bf16 optimizer=adamw > "$work/ours"
"$prefix/bin/plimsoll" estimate builtin:resnet50 --gpu a100 --batch 64 --precision amp-bf16 \
  --optimizer adamw --json > "$work/commands"
cmp "$work/ours" "$work/commands" || fail "library and command differ"

# What shells and man read is of this command.
"$prefix/bin/plimsoll" completion bash | cmp - "$prefix/share/bash-completion/completions/plimsoll" ||
  fail "completion"
bash -c '. "$1"; COMP_WORDS=("$2" estimate builtin:alexnet --gpu rtx-40); COMP_CWORD=4
  _plimsoll; printf "%s\n" "${COMPREPLY[@]}"' - "$prefix/share/bash-completion/completions/plimsoll" \
  "$prefix/bin/plimsoll" | grep -x rtx-4090 > "$work/log" || fail "no GPU is completed"
echo "passed"
