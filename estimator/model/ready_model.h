// ReadyModel: a model's graph with all that its step is expanded from: inferred at the request's
// sizes, put back, cast to its precision, adapted by its fine-tuning. Steps that differ in anything
// else, as the stages of a pipeline do, are compiled of the same one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/model/loaded_model.h"
#include "estimator/request/request.h"
#include "graph/ir/training_plan.h"
#include "graph/rewrite/recover.h"

namespace plimsoll {

// The code of the warning that a sequence is longer than a table of the model's positions.
inline constexpr std::string_view kBeyondPositions = "W215";
// ... than a config states, where the model is served.
inline constexpr std::string_view kBeyondStated = "W245";

struct ReadyModel {
  std::string name;
  InputFacts facts;
  Meta meta;
  bool builtin = false, from_onnx = false;
  Recipe recipe;  // what graph_recipe() leaves, with what the model's config says of it
  Policy policy;
  std::string batch_symbol;
  Graph graph;
  TrainingPlan plan;
  Binding longest, binding;  // as CompiledModel has them
  Decider decider;           // with what was decided so far
  RecoverReport recovered{};
  std::vector<std::string> recognised{}, basis{};
  Diagnostics warnings{};
};

// What of a recipe a ReadyModel depends on.
Recipe graph_recipe(const Recipe& recipe);

// Of a model that is no recorded step. Errors of inference, E131 for unbound symbols. Cost: some
// visits of each node.
Result<ReadyModel> make_ready(LoadedModel model, const ModelRequest& request, const Recipe& recipe,
                              const Policy& policy);

bool is_staged(const Recipe& recipe);  // a pipeline shares the model

// The part of a whole one that the stage of the plan's rank runs. E120 for what cannot be cut so.
Result<ReadyModel> at_stage(const ReadyModel& whole, const Recipe& recipe);

}  // namespace plimsoll
