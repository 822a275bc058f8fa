// SweepPlan: which configurations a sweep has. A JSON or YAML file; sweep tools' own plans are read
// as they are: Weights & Biases', Optuna's search spaces (as `optuna ask --search-space` takes
// them) and Hydra's configs with their `hydra.sweeper.params`:
//
//   model: resnet50.onnx          # beside the plan; several as [a.onnx, b.onnx]
//   parameters:
//     batch: {min: 32, max: 256, step: 32}
//     gpu: {values: [rtx-4090, a100-80gb-sxm]}
//     precision: [fp32, amp-bf16]
//     learning_rate: {min: 0.0001, max: 0.1, distribution: log_uniform_values}
//   constraints: ["batch <= 128 or gpu == 'a100-80gb-sxm'"]
//   objective: {name: samples_per_second, goal: maximize}
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/app/sweep/constraint.h"
#include "graph/base/diagnostic.h"
#include "graph/base/limits.h"
#include "graph/json/value.h"

namespace plimsoll {

struct SweepParameter {
  std::string name;
  Place place;
  std::vector<JsonValue> values;  // words, numbers, true and false; none of a distribution
};

// The figure of a record that the best configuration has most of, or least.
struct Objective {
  enum class Figure : uint8_t { kSamplesPerSecond, kStepNs, kDeviceBytes };
  Figure figure = Figure::kSamplesPerSecond;
  bool maximize = true;
};
// By Figure, as plans name them.
inline constexpr std::array<std::string_view, 3> kObjectiveFigures = {"samples_per_second",
                                                                      "step_ns", "device_bytes"};
std::string_view name(Objective::Figure figure);

enum class PlanSyntax : uint8_t { kParameters, kOptuna, kHydra };

struct SweepPlan {
  std::string model;  // empty where the plan names none, or several: then they are a parameter
  std::vector<SweepParameter> parameters;
  // "method" and "run_cap": so many configurations, by chance or the first ones; else all.
  bool random = false;
  std::optional<int64_t> run_cap{};
  int64_t seed = 0;                       // of chance
  std::vector<Constraint> constraints{};  // other configurations are not asked for
  std::optional<Objective> objective{};
  Diagnostics notes{};  // W517: what the plan asks for and has no effect here
  PlanSyntax syntax = PlanSyntax::kParameters;
  bool yaml = false;
  JsonValue root{};  // the file
  // How many there are, parameters without values left out. E818 beyond the limit.
  Result<int64_t> configurations(const Limits& limits) const;
  // Numbers of those that are asked for, of `configurations`, rising; nothing where all are. The
  // same seed chooses the same on every machine.
  std::optional<std::vector<int64_t>> chosen(int64_t configurations) const;
  // The value that each parameter has in a configuration, by its number; 0 where it has none.
  std::vector<size_t> values_of(int64_t configuration) const;
};

}  // namespace plimsoll
