// What small values hold while a graph is being written out: trip counts, conditions, positions in
// lists. Shapes of the nodes so far are inferred when somebody asks, so that whatever is computed
// from shapes is known; a file without such questions pays nothing.
#pragma once

#include <optional>

#include "graph/onnx/import_options.h"
#include "graph/ops/infer.h"

namespace plimsoll::onnx {

class KnownValues {
 public:
  // All three outlive it.
  KnownValues(Graph& graph, const ImportOptions& options) : graph_(graph), options_(options) {}

  // The one whole number or truth that a tensor holds; nothing where data decide. What depends on
  // symbols is decided at their values.
  std::optional<int64_t> number(TensorId tensor);
  // The same for a list of numbers.
  std::optional<std::vector<int64_t>> numbers(TensorId tensor);
  std::optional<int64_t> extent(TensorId tensor, int64_t axis);

  // What ImportOptions::bind said against it: then nothing is known.
  const std::optional<Diagnostics>& fault() const { return fault_; }
  // Under which the answers hold.
  std::vector<Guard> guards() const { return decider_ ? decider_->guards() : std::vector<Guard>(); }

 private:
  bool infer_new_nodes();
  std::optional<int64_t> value(const Dim& dim);

  Graph& graph_;
  const ImportOptions& options_;
  std::optional<Decider> decider_;
  std::optional<Diagnostics> fault_;
  NodeId next_ = 0;  // to infer
};

}  // namespace plimsoll::onnx
