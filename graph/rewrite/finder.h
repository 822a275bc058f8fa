// A pass of recover() over a graph: what it may do there and what it has found.
#pragma once

#include <vector>

#include "graph/rewrite/editor.h"
#include "graph/rewrite/recovered.h"

namespace plimsoll::patterns {

class Finder {
 public:
  Finder(Rewrite& rewrite, Decider* decides) : r(rewrite), decider(decides) {}
  Rewrite& r;
  Decider* decider;  // none: what depends on a symbol is taken to be large
  std::vector<Recovered> found;

  // `at` stands for a group now: its `interior` nodes died, or it lives on as one of them.
  void note(std::string_view pattern, NodeId at, size_t removed_before) {
    found.push_back({pattern, at, r.removed_count() - removed_before + 1});
  }
  // Whoever reads `value`, of known shape and with a reader, reads a contiguous copy of it instead.
  // The copy's node.
  NodeId copy_for_readers(TensorId value);
};

}  // namespace plimsoll::patterns
