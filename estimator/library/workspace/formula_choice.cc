#include "estimator/library/workspace/formula_choice.h"

#include <algorithm>

#include "estimator/library/workspace/legacy.h"

namespace plimsoll {

WorkspaceChoice columns_of_one_image(const WorkspaceShape& v, DType dtype) {
  const bool pixels =
      v.r == 1 && v.s == 1 && v.stride_h == 1 && v.stride_w == 1 && v.pad_h == 0 && v.pad_w == 0;
  const int64_t bytes = pixels ? 0 : v.c / v.groups * v.r * v.s * v.p * v.q * (bits(dtype) / 8);
  return {.plan = {.algorithm = "im2col", .bytes = bytes},
          .low = bytes,
          .high = bytes,
          .largest = bytes,
          .basis = WorkspaceBasis::kRule};
}

std::optional<WorkspaceChoice> choice_of(const WorkspaceShape& shape, Pass pass, DType dtype,
                                         int cudnn_major, const std::string& algorithm) {
  constexpr int kWithoutTransforms = 9;
  const bool transforms = algorithm.starts_with("fft") || algorithm == "winograd_nonfused";
  if (transforms && cudnn_major >= kWithoutTransforms) return std::nullopt;
  auto algorithms = legacy_algorithms(shape, pass, dtype);
  const int64_t columns = shape.c * shape.r * shape.s * shape.p * shape.q * (bits(dtype) / 8);
  algorithms.push_back({"im2col", columns});
  for (const LegacyAlgorithm& known : algorithms) {
    if (known.name != algorithm) continue;
    return WorkspaceChoice{.plan = {.algorithm = known.name, .bytes = known.bytes},
                           .low = known.bytes,
                           .high = known.bytes,
                           .largest = known.bytes,
                           .basis = WorkspaceBasis::kInterval};
  }
  return std::nullopt;
}

WorkspaceChoice legacy_of(const WorkspaceShape& shape, Pass pass, DType dtype, int capability,
                          std::optional<int64_t> limit) {
  WorkspaceChoice choice{.basis = WorkspaceBasis::kInterval};
  std::vector<ConvPlan>& offered = choice.alternatives;
  for (const LegacyAlgorithm& known : legacy_algorithms(shape, pass, dtype)) {
    if (limit && known.bytes > *limit) continue;
    offered.push_back({.algorithm = known.name, .bytes = known.bytes});
    choice.tried.push_back(known.bytes);
  }
  const auto [least, most] = std::ranges::minmax(choice.tried);
  choice.low = least;
  choice.high = choice.largest = most;
  const char* name = legacy_choice(shape, pass, dtype, capability, limit).name;
  const auto taken = std::ranges::find(offered, name, &ConvPlan::algorithm);
  choice.plan = *taken;
  offered.erase(taken);
  return choice;
}

WorkspaceChoice bounds_only(const ConvProblem<int64_t>& c, DType dtype, int capability) {
  const int64_t channels = c.c / c.groups;
  double elements = 0, filter = static_cast<double>(c.k) * static_cast<double>(channels);
  double x = static_cast<double>(c.n) * static_cast<double>(c.c);
  double y = static_cast<double>(c.n) * static_cast<double>(c.k);
  for (size_t i = 0; i < 3; ++i) {
    x *= static_cast<double>(c.in[i]);
    y *= static_cast<double>(c.out[i]);
    filter *= static_cast<double>(c.filter[i]);
  }
  elements = std::min(x + y + filter, 1e15);
  WorkspaceChoice choice{.plan = {.algorithm = "implicit_gemm"}};
  const auto copies = static_cast<int64_t>(elements) * (bits(dtype) / 8);
  choice.high = copies;
  // Tensor-core engines convert x and the filter; plain ones need index tables only.
  if (capability >= 80) {
    choice.plan = {.tensor_core = true, .algorithm = "tensor_core"};
    choice.plan.bytes = static_cast<int64_t>(std::min(x + filter, 1e15)) * (bits(dtype) / 8);
  }
  choice.largest = copies;
  return choice;
}

}  // namespace plimsoll
