// CompiledModel: a model and its training recipe, compiled into a step: buffers with symbolic sizes
// and kernels with symbolic work. Compiled once, evaluated at many points; immutable.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/model/loaded_model.h"
#include "estimator/model/ready_model.h"
#include "estimator/request/request.h"
#include "graph/train/expand.h"

namespace plimsoll {

struct CompiledModel {
  std::string name;
  InputFacts facts;
  Meta meta;
  bool builtin = false;
  bool recorded = false;  // the step came from a record, not from the graph
  // The settings that the record was made for, each with its texts.
  std::map<std::string, std::vector<std::string>, std::less<>> recorded_with;
  Recipe recipe;
  Policy policy;
  std::string batch_symbol;
  Graph graph;  // inferred and recovered: node ids of the step are its
  std::vector<WeightRole> weight_roles;
  parallel::Placements placements;  // of weights; none of a record, which has a device's part
  Step step;
  Binding longest;  // sizes of the largest batch that differ from the usual ones
  Binding binding;  // at which it was compiled; valid elsewhere while the guards hold
  std::vector<std::string> recognised;
  std::vector<std::string> basis;
  Diagnostics warnings;
  // Bytes that a step may take less or more, for what a file leaves open.
  Dim open_less, open_more;
  // By node, where the file does not say how long the code's names hold values: the last node of
  // the call that made them.
  std::vector<NodeId> names_until;
  // The pass that is run between steps (Recipe::evaluation), valid wherever the step is; null:
  // none.
  std::shared_ptr<const CompiledModel> evaluation;
};

// The batch at a point; the file's own where no symbol is.
int64_t batch_at(const CompiledModel& model, const Binding& binding);

// Where memory is read: at the largest batch's sizes, unless the point names others.
Binding largest_batch(const CompiledModel& model, Binding binding);

// `policy`: of the framework's profile, with what the device and library decide filled in.
// E131 lists unbound symbols with the settings to give.
Result<CompiledModel> compile(LoadedModel model, const ModelRequest& request, const Recipe& recipe,
                              const Policy& policy);

// Of what is ready, a stage's part where a pipeline shares the model; `recipe`: as it was made for,
// but for what graph_recipe() leaves out.
Result<CompiledModel> compile(ReadyModel ready, const Recipe& recipe);

}  // namespace plimsoll
