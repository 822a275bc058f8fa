#include "estimator/app/sweep/hydra_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "estimator/app/sweep/plan_parameter.h"
#include "graph/base/escape.h"
#include "graph/json/object.h"

namespace plimsoll {
namespace {

// Of the sweeper, without effect on which runs there are.
constexpr std::array kOfRuns = {"_target_", "max_batch_size", "direction",       "study_name",
                                "storage",  "n_jobs",         "max_failure_rate"};

class HydraReader {
 public:
  HydraReader(std::string_view file, const Limits& limits, SweepPlan& plan, Diagnostics& faults)
      : file_(file), limits_(limits), plan_(plan), faults_(faults) {}

  void read(const JsonValue& root) {
    check_defaults(root.find("defaults"));
    const JsonValue* sweeper = root.find("hydra")->find("sweeper");
    if (sweeper) read_sweeper(*sweeper);
    for (const JsonMember& member : *root.members()) {
      const bool taken = member.key == "hydra" || member.key == "defaults" ||
                         member.key == "constraints" || member.key == "objective" ||
                         (member.key == "model" && member.value.string());
      if (!taken) keep(member, member.key);
    }
  }

 private:
  void fail(const std::string& message, const JsonValue& at) {
    faults_.push_back(
        error("E311", message, {std::string(file_), at.line, at.column, {}}).value().front());
  }

  void check_defaults(const JsonValue* defaults) {
    if (!defaults || !defaults->list()) return;
    for (const JsonValue& one : *defaults->list()) {
      const JsonValue::Members* pair = one.members();
      const std::string* word = one.string();
      const bool own =
          (word && *word == "_self_") ||
          (pair && pair->size() == 1 && pair->front().key.starts_with("override hydra/"));
      if (own) continue;
      const std::string named = word                        ? *word
                                : pair && pair->size() == 1 ? pair->front().key
                                                            : one.description();
      fail(fmt::format("defaults: {} is another file, which is not read; give the config that "
                       "--cfg job prints, with its hydra.sweeper",
                       shortened(named, 60)),
           one);
    }
  }

  void read_sweeper(const JsonValue& value) {
    JsonObject sweeper(value, file_, faults_);
    for (const char* key : kOfRuns) sweeper.optional(key);
    for (const char* key : {"custom_search_space", "search_space"}) {
      if (const JsonValue* asked = sweeper.optional(key); asked && !asked->is_null())
        fail(fmt::format("{} is not supported: params", key), *asked);
    }
    read_sampler(sweeper);
    const JsonValue* params = sweeper.optional("params");
    sweeper.finish();
    if (!params || params->is_null()) return;
    if (!params->members())
      return fail(fmt::format("params is an object, found {}", params->description()), *params);
    for (const JsonMember& member : *params->members()) {
      ParameterReader reader(file_, limits_, faults_, plan_.random);
      plan_.parameters.push_back(reader.read_override(member));
    }
  }

  // Of Optuna's sweeper: which of the grid are tried.
  void read_sampler(JsonObject& sweeper) {
    const JsonValue* trials = sweeper.optional("n_trials");
    if (trials) {
      const auto number = trials->integer();
      if (!number || *number < 1) return fail("n_trials must be an integer of at least 1", *trials);
      plan_.run_cap = number;
    }
    const JsonValue* sampler = sweeper.optional("sampler");
    if (!sampler) {
      // Optuna's default is the tree of Parzen estimators, which learns from trials.
      if (trials)
        fail("n_trials without a sampler means TPESampler, which is not supported", *trials);
      return;
    }
    const JsonValue* target = sampler->find("_target_");
    const std::string word =
        target && target->string() ? *target->string() : sampler->description();
    plan_.random = word.ends_with("RandomSampler");
    if (!plan_.random && !word.ends_with("GridSampler"))
      return fail(fmt::format("sampler: {} is not supported; RandomSampler and GridSampler are",
                              shortened(word, 60)),
                  *sampler);
    const JsonValue* seed = sampler->find("seed");
    if (seed && seed->integer() && *seed->integer() >= 0) plan_.seed = *seed->integer();
  }

  // A value of the config that no override replaces.
  void keep(const JsonMember& member, const std::string& path) {
    const bool swept = std::ranges::any_of(plan_.parameters,
                                           [&](const SweepParameter& p) { return p.name == path; });
    if (swept) return;
    if (const JsonValue::Members* inner = member.value.members()) {
      for (const JsonMember& one : *inner) keep(one, path + "." + one.key);
    } else if (is_scalar(member.value)) {
      plan_.parameters.push_back(
          {path, {std::string(file_), member.line, member.column, {}}, {member.value}});
    }
  }

  std::string_view file_;
  const Limits& limits_;
  SweepPlan& plan_;
  Diagnostics& faults_;
};

}  // namespace

void read_hydra_plan(const JsonValue& root, std::string_view file, const Limits& limits,
                     SweepPlan& plan, Diagnostics& faults) {
  HydraReader(file, limits, plan, faults).read(root);
}

}  // namespace plimsoll
