#!/usr/bin/env bash
# What CONTRIBUTING.md says of each kind of change, as a patch of an example: how many files it touches.
#
#   tests/recipes/try.sh --check    each applies to these sources, and the table in CONTRIBUTING.md is true
#   tests/recipes/try.sh --write    writes that table
#   tests/recipes/try.sh            applies all to a copy in build/recipes, builds it, runs its tests and asks it for each
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Patch, what it adds, how many files it may touch.
recipes=(
  "operator|an operator with known traits|1"
  "pattern|what an exporter decomposes|1"
  "optimizer|an optimizer|1"
  "device|a GPU|1"
  "framework|a framework's version|1"
  "form|a form of tables|3"
  "verb|a verb|2"
  "sharing|a way to share a model's training|5"
  "figure|a figure of an answer|3"
  "setting|a setting that is on or off|3"
  "family|a family of Hugging Face's models|1"
)

table() {
  echo "| example | adds | files touched | lines | at most |"
  echo "|---|---|--:|--:|--:|"
  local name adds most
  for recipe in "${recipes[@]}"; do
    IFS='|' read -r name adds most <<< "$recipe"
    local patch=tests/recipes/$name.patch
    echo "| \`$patch\` | $adds | $(grep -c '^diff ' "$patch") | $(grep -c '^+[^+]' "$patch") | $most |"
  done
}

# CONTRIBUTING.md with the table of today between its marks.
page() {
  awk -v table="$(table)" '/^<!-- recipes -->$/ { print; print table; skips = 1; next }
                           /^<!-- end -->$/ { skips = 0 } !skips' CONTRIBUTING.md
}

check() {
  local name adds most files fault=0
  for recipe in "${recipes[@]}"; do
    IFS='|' read -r name adds most <<< "$recipe"
    git apply --check "tests/recipes/$name.patch" || { echo "$name: does not apply"; fault=1; }
    files=$(grep -c '^diff ' "tests/recipes/$name.patch")
    [ "$files" -le "$most" ] || { echo "$name: touches $files files, at most $most"; fault=1; }
  done
  page | diff CONTRIBUTING.md - || { echo "CONTRIBUTING.md: tests/recipes/try.sh --write"; fault=1; }
  return $fault
}

# asks LINE COMMAND...: the answer has such a line.
asks() {
  local line=$1
  shift
  "$@" | grep -- "$line" > /dev/null || { echo "not answered: $*"; return 1; }
}

try_all() {
  local copy=build/recipes
  rm -rf "$copy/tree"
  mkdir -p "$copy/tree"
  git ls-files -z | xargs -0 cp --parents --target-directory "$copy/tree"
  (
    cd "$copy/tree"
    git init --quiet  # a tree of its own, or git takes the patches for the one around it
    for recipe in "${recipes[@]}"; do git apply "tests/recipes/${recipe%%|*}.patch"; done
    PLIMSOLL_OUTPUTS=write ./dev check  # a figure more, or a setting, is printed
    local plimsoll=build/fast/plimsoll
    asks 'keeps in0' "$plimsoll" ops Hardshrink
    asks 'Example Card' "$plimsoll" gpus example-card
    asks 'peak' "$plimsoll" estimate builtin:mlp --batch 8 --gpu example-card --framework pytorch-1.6 --optimizer tiger
    asks "$(printf 'layer\t\|node\t')" "$plimsoll" estimate builtin:mlp --batch 8 --gpu example-card --tsv
    asks 'nodes' "$plimsoll" limits
    asks 'distinct_kernels' "$plimsoll" estimate builtin:mlp --batch 8 --gpu example-card --json
    asks 'distinct_kernels' "$plimsoll" schema estimate
    asks 'peak' "$plimsoll" estimate builtin:mlp --batch 8 --gpu example-card --pinned
    asks 'pinned: bool' "$plimsoll" completion python
    asks 'iquestcoder' "$plimsoll" models --families
  )
}

case "${1:-}" in
  --check) check ;;
  --write) page > CONTRIBUTING.md.new && mv CONTRIBUTING.md.new CONTRIBUTING.md ;;
  '')  # not joined by &&, which would go on after a failed step
    check
    try_all
    echo passed
    ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
