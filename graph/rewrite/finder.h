// A pass of recover() over a graph: what it may do there and what it has found.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/rewrite/editor.h"
#include "graph/rewrite/recovered.h"

namespace plimsoll::patterns {

class Finder {
 public:
  Finder(Rewrite& rewrite, Decider* decides, bool joins = false)
      : r(rewrite), decider(decides), joins_attention(joins) {}
  Rewrite& r;
  Decider* decider;      // none: what depends on a symbol is taken to be large
  bool joins_attention;  // also where somebody wrote its pieces by hand
  std::vector<Recovered> found;
  size_t attention_in_pieces = 0;  // that `joins_attention` would have joined

  // `at` stands for a group now: its `interior` nodes died, or it lives on as one of them.
  void note(std::string_view pattern, NodeId at, size_t removed_before) {
    found.push_back({pattern, at, r.removed_count() - removed_before + 1});
  }
  // Whoever reads `value`, of known shape and with a reader, reads a contiguous copy of it instead.
  // The copy's node.
  NodeId copy_for_readers(TensorId value);
};

}  // namespace plimsoll::patterns
