#!/usr/bin/env bash
# Draws docs/rooms.svg: every folder, with an arrow to each that it includes and reaches no other way. Read from the
# sources' includes, which tests/layering_test.cc compares with the picture. Needs graphviz.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rooms=(graph hwdb estimator calibrate monitor)

folders() { find "$1" -name '*.cc' -printf '%h\n' -o -name '*.h' -printf '%h\n' | sort -u; }

{
  echo 'digraph rooms {'
  echo 'ranksep=0.3; nodesep=0.15; bgcolor=white; fontname="Helvetica";'
  echo 'node [shape=box, style="filled,rounded", fillcolor=white, fontname="Helvetica", fontsize=12, height=0.3];'
  echo 'edge [color="#555555", arrowsize=0.6];'
  for room in "${rooms[@]}"; do
    echo "subgraph \"cluster_$room\" { label=\"$room\"; style=filled; color=\"#e8eef4\";"
    for folder in $(folders "$room"); do
      label=${folder#"$room"/}
      echo "\"$folder\" [label=\"$label\"];"
    done
    echo '}'
  done
  grep -rE '^#include "' --include='*.cc' --include='*.h' "${rooms[@]}" |
    sed -nE 's@^([a-z_/]+)/[^/]+:#include "((graph|hwdb|estimator|calibrate|monitor)[a-z_/]*)/[^/]+$@\1 \2@p' |
    sort -u | awk '$1 != $2 { print "\"" $1 "\" -> \"" $2 "\";" }'
  echo '}'
} | tred | dot -Tsvg | sed -e '/^<!--.*-->$/d' -e '/^<!--/,/-->$/d' > docs/rooms.svg
