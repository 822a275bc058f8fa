// workspace_table: cuDNN's own answers, packed (calibrate/workspace_packer.h describes the form). A
// table holds, for the layers of well-known networks at some batch sizes, the first plan without
// tensor cores and the first with, for one compute capability, cuDNN version, type, layout.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/library/workspace/formula.h"
#include "graph/base/diagnostic.h"

namespace plimsoll {

// A plan with its bytes; `engine` -1 where there is none.
struct KnownPlan {
  PlanForm form;
  int64_t bytes = 0;
  bool exception = false;  // bytes follow from no formula: they hold for this very problem only
};

struct KnownPlans {
  std::optional<KnownPlan> plain, tensor;
  bool tensor_first = false;  // cuDNN prefers it
  int64_t largest = 0;        // over all plans, up to 19 % too large
  int64_t batch = 0;          // for which cuDNN was asked
};

// The layers that all tables speak of. Cost of a lookup: two comparisons of keys at most, mostly.
class LayerList {
 public:
  static constexpr size_t kNumbers = 13;  // that tell a layer from others

  static Result<LayerList> read(std::string_view bytes);
  // Index of the shape without its batch.
  std::optional<uint32_t> find(const WorkspaceShape& shape) const;
  size_t size() const { return layers_.size(); }
  // The layer at a batch, its output as equal padding makes it.
  WorkspaceShape shape(size_t layer, int64_t batch) const;

 private:
  std::vector<std::array<uint16_t, kNumbers>> layers_;
  std::vector<uint32_t> buckets_;  // open addressing: index + 1, 0 for an empty place
};

class WorkspaceTable {
 public:
  // E301 where the bytes are no table.
  static Result<WorkspaceTable> read(std::string bytes);
  // The answers for the layer at the nearest batch (the same, where `batch` says so).
  KnownPlans find(uint32_t layer, const WorkspaceShape& shape, Pass pass, DType dtype) const;
  size_t layers() const { return layers_; }

 private:
  std::optional<KnownPlan> plan(int column, size_t index, const WorkspaceShape& shape, Pass pass,
                                DType dtype) const;
  uint8_t byte(size_t at) const { return static_cast<uint8_t>(bytes_[at]); }

  std::string bytes_;
  size_t layers_ = 0;
  std::vector<int64_t> batches_;
  std::vector<PlanForm> plans_;
  size_t columns_ = 0;                      // where they begin
  size_t exceptions_ = 0;                   // where the exceptions begin
  std::vector<uint32_t> exceptions_of_[2];  // indices of the problems that have one, by column
};

}  // namespace plimsoll
