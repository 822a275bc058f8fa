// Values of one parameter of a plan, as sweep tools write them.
#pragma once

#include <array>
#include <string_view>

#include "estimator/app/sweep/sweep_plan.h"
#include "graph/base/limits.h"
#include "graph/json/object.h"

namespace plimsoll {

// Words and numbers are values of a plan, lists and objects are not.
bool is_scalar(const JsonValue& value);

class ParameterReader {
 public:
  // `faults` outlives this. `by_chance`: the plan draws, so that probabilities would matter.
  ParameterReader(std::string_view file, const Limits& limits, Diagnostics& faults, bool by_chance)
      : file_(file), limits_(limits), faults_(faults), by_chance_(by_chance) {}

  // A value, a list, {values}, {value}, {min, max, step}, {distribution}, or one of Optuna's
  // distributions {name, attributes}.
  SweepParameter read(const JsonMember& member);
  // A parameter with the values of an override of Hydra's: "1,2,3", "choice(a, b)",
  // "range(1, 10, 2)", "interval(0, 1)". E311 for what is not done, by its name.
  SweepParameter read_override(const JsonMember& member);

 private:
  void take_object(const JsonMember& member, SweepParameter& parameter);
  void take_optuna(const JsonMember& member, SweepParameter& parameter);
  void take_list(const JsonValue& list, const JsonMember& member, SweepParameter& parameter);
  void take_range(const JsonValue& min, const JsonValue& max, const JsonValue* step,
                  SweepParameter& parameter);
  void take_steps(const JsonValue& low, const JsonValue& high, const JsonValue& step,
                  SweepParameter& parameter);
  void check_distribution(JsonObject& object, const JsonMember& member);
  void fail(std::string code, std::string message, const JsonValue& at);
  void wrong(const JsonValue& value, const JsonMember& member);
  void not_done(std::string_view what, const JsonMember& member);

  std::string_view file_;
  const Limits& limits_;
  Diagnostics& faults_;
  bool by_chance_;
};

// Weights & Biases', docs.wandb.ai/guides/sweeps/sweep-config-keys ("Distribution options").
inline constexpr std::array<std::string_view, 17> kListedDistributions = {"constant",
                                                                          "categorical",
                                                                          "int_uniform",
                                                                          "uniform",
                                                                          "q_uniform",
                                                                          "log_uniform",
                                                                          "log_uniform_values",
                                                                          "q_log_uniform",
                                                                          "q_log_uniform_values",
                                                                          "inv_log_uniform",
                                                                          "inv_log_uniform_values",
                                                                          "normal",
                                                                          "q_normal",
                                                                          "log_normal",
                                                                          "q_log_normal",
                                                                          "beta",
                                                                          "q_beta"};
// Optuna's, optuna/distributions.py: of choices, of whole numbers, of real ones.
inline constexpr std::array<std::string_view, 3> kOptunaDistributions = {
    "CategoricalDistribution", "IntDistribution", "FloatDistribution"};
// Whether a value is a distribution of Optuna's.
bool is_optuna_distribution(const JsonValue& value);

}  // namespace plimsoll
