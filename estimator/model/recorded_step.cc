#include "estimator/model/recorded_step.h"

#include <fmt/format.h>

#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

std::string asked_as(const Graph& graph, const std::string& name, const std::string& value) {
  return name == graph.batch_symbol ? setting("batch", value)
                                    : setting_entry("dim", shortened(name, 60), value);
}

int64_t ranks_of(const Mesh& mesh) { return mesh.stride(Axis::kStage) * mesh.extent(Axis::kStage); }

}  // namespace

Result<Step> step_at(const Record& record, const Binding& binding) {
  Step step = record.step;
  for (const auto& [name, size] : record.only) {
    if (binding.at(name) != size)
      return error("E282",
                   fmt::format("the step was recorded only with {} {}: {}", shortened(name, 60),
                               size, shortened(record.only_because)),
                   {},
                   "record it with other inputs, or use " +
                       asked_as(record.graph, name, std::to_string(size)));
    step.guards.push_back(
        {.kind = Guard::Kind::kZero, .expression = Dim::symbol(name) - size, .holds = true});
  }
  for (const auto& [name, size] : record.multiples) {
    if (binding.at(name) % size != 0)
      return error(
          "E282",
          fmt::format("the step was recorded at multiples of {} {}", size, shortened(name, 60)), {},
          "record it with other inputs, or use one of " +
              asked_as(record.graph, name, std::to_string(size)));
    const Dim symbol = Dim::symbol(name);
    step.guards.push_back({.kind = Guard::Kind::kZero,
                           .expression = symbol - floor_div(symbol, size) * size,
                           .holds = true});
  }
  return step;
}

Result<void> check_ranks(const Record& record, const Mesh& requested) {
  const int64_t recorded = ranks_of(record.mesh), wanted = ranks_of(requested);
  if (recorded == wanted) return {};
  if (recorded == 1)
    return error("E283", fmt::format("the step was recorded on one GPU, not on {}", wanted), {},
                 fmt::format("record it with world_size={}", wanted));
  return error("E283", fmt::format("the step was recorded on {} GPUs, not on {}", recorded, wanted),
               {}, "use " + setting("gpus", std::to_string(recorded)));
}

std::vector<WeightRole> roles_of(const Record& record) {
  std::vector<WeightRole> roles;
  for (const Tensor& tensor : record.graph.tensors) {
    const bool parameter = tensor.kind == TensorKind::kParameter;
    roles.push_back(!parameter      ? WeightRole::kConstant
                    : tensor.frozen ? WeightRole::kFrozen
                                    : WeightRole::kTrained);
  }
  return roles;
}

std::vector<std::string> basis_of(const Record& record) {
  std::vector<std::string> basis{
      fmt::format("a recorded step of PyTorch {}: operators, optimizer and precision are those of "
                  "the program",
                  shortened(record.torch, 60))};
  if (ranks_of(record.mesh) > 1)
    basis.push_back(fmt::format(
        "rank {} of {}, sharded by the program; the links determine the time of collectives",
        record.mesh.rank, ranks_of(record.mesh)));
  for (const std::string& said : record.stated)
    basis.push_back(fmt::format("assumed where the step reads values: {}", shortened(said)));
  return basis;
}

}  // namespace plimsoll
