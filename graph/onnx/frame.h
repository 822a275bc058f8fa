// The state of inlining: one frame for each graph that is being written out.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/onnx/bindings.h"
#include "graph/onnx/model.h"

namespace plimsoll::onnx {

// Names and what they mean; kNoTensor is an optional input that a call left out.
struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
};
using Scope = std::unordered_map<std::string, TensorId, NameHash, std::equal_to<>>;

// A Loop or Scan between two iterations.
struct LoopState {
  GraphIndex body = 0;
  const NodeSpec* node = nullptr;  // outlives the loop
  int64_t trips = 0, next = 0;
  size_t first_node = 0;  // of the first iteration
  bool scan = false;
  size_t began = 0;      // nodes there were before this iteration
  bool watched = false;  // its condition may end it: looked at after each iteration
  bool written = false;  // the last iteration gives the node's outputs by itself
  TensorId condition = kNoTensor;
  std::vector<TensorId> carried;               // into the next iteration
  std::vector<TensorId> scanned;               // a Scan's inputs, cut along scan_axes
  std::vector<int64_t> scan_axes;              // one for each of `scanned`
  std::vector<int64_t> output_axes;            // one for each stacked output
  std::vector<TensorId> targets;               // the node's outputs: carried, then stacked
  std::vector<std::vector<TensorId>> stacked;  // for each stacked output, its parts

  size_t stacks() const { return stacked.size(); }
  // A Loop's body gives its condition first.
  size_t first_result() const { return scan ? 0 : 1; }
};

struct Frame {
  GraphIndex graph = 0;
  size_t next = 0;  // node
  Scope scope;
  const Frame* outer = nullptr;  // where names are looked up that are not in `scope`
  std::string prefix;            // of names of tensors and nodes
  std::string module;            // of nodes that have none
  std::shared_ptr<const Bindings> bindings;
  std::vector<TensorId> targets;    // what the graph's outputs are to be, outside; may be short
  std::optional<size_t> guess;      // of Graph::guesses, where this is a branch that was guessed
  std::unique_ptr<LoopState> loop;  // then `graph` is not run here, but by frames on top of this

  std::optional<TensorId> find(std::string_view name) const {
    for (const Frame* frame = this; frame; frame = frame->outer) {
      const auto at = frame->scope.find(name);
      if (at != frame->scope.end()) return at->second;
    }
    return std::nullopt;
  }
};

}  // namespace plimsoll::onnx
