// Model configs: layer lists with hyper-parameters, as JSON -> Graph.
//
//   {"schema": "plimsoll.model-config", "version": 1, "name": "perceptron",
//    "parameters": {"hidden": 512, "layers": 2},
//    "inputs": [{"name": "x", "shape": ["batch", 784]}],
//    "layers": [
//      {"name": "body", "type": "repeat", "count": "layers", "layers": [
//        {"name": "fc", "type": "linear", "out": "hidden"}, {"type": "relu"}]},
//      {"name": "head", "type": "linear", "out": 10}],
//    "loss": "cross_entropy"}
//
// A layer is given the output of the one before, or names its "input" or "inputs": an earlier layer
// of its list or of a list around, "lstm:1" for a second output, "previous". Without a name it is
// called by its place, as in a torch Sequential; paths join with dots ("body.0.fc"), and its
// tensors are called body.0.fc.weight. A list of layers ("sequence", "repeat", "residual", a
// branch) sees the names around it, and what it was given as "input". A "block" is a list with
// parameters that the config defines once, under "blocks"; it sees only its own inputs and the
// config's parameters.
//
// Counts are numbers or expressions over "parameters" (expression.h). Whole-number parameters that
// only enter sizes stay symbols of the graph, with their values in Graph::defaults; those that
// decide the structure are bound. `batch` is always a symbol. --set NAME=VALUE replaces a default.
//
// A step may train several networks: "networks" holds them by name, "schedule" the phases of a
// step. `model_config_schema()` lists every key; ops/composites.cc the plimsoll operators that
// layers become.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/config/parameters.h"
#include "graph/ir/graph.h"
#include "graph/ir/optimizer.h"
#include "graph/ir/training_plan.h"
#include "graph/json/value.h"

namespace plimsoll {

// A network with inferred shapes. Its outputs are graph.outputs.
struct NamedGraph {
  std::string name;  // empty where the config has one network only
  Graph graph;
  std::vector<OutputLoss> losses;  // none: what the recipe says
};

// One part of a training step: `network` is trained and updated.
struct SchedulePhase {
  std::string network;
  std::vector<std::string> forward_only;  // run without gradients, to make its inputs
  std::vector<std::string> through;       // behind it: gradients pass, nothing is updated
  int64_t passes = 1;                     // forward and backward per update: 2 for real and fake
  bool gradient_penalty = false;          // a further pass that differentiates the gradient
  int64_t repeat = 1;                     // how often in one step
};

struct Meta {
  std::string description;
  std::vector<std::string> sources;  // where its numbers come from
  std::string sample_unit = "samples";
  Dim units_per_sample = 1;  // tokens of a sentence, seconds of an utterance
  // Of a forward pass: what layers do on the host, proposals of a detector for one, while the
  // device waits; nanoseconds of one thread of the reference machine (hwdb/host.h).
  Dim host_ns = 0;
  std::string dataset;  // empty where the config names none
  int64_t samples_per_epoch = 0;
  // Sizes of the largest batch, where batches differ: memory is read there, time at the defaults.
  Binding longest;
  // How its sources trained it; null where the config does not say.
  const OptimizerRow* optimizer = nullptr;
  bool weight_decay = false;
  std::string optimizer_source;
};

struct ConfigParameter {
  std::string name;
  std::string value;      // "512", "300,100", "0.1"
  bool symbolic = false;  // may be bound when a step is evaluated, not only with --set
};

struct ModelConfig {
  std::string name;
  std::vector<NamedGraph> networks;     // at least one
  std::vector<SchedulePhase> schedule;  // at least one phase
  Meta meta;
  std::vector<ConfigParameter> parameters;
};

struct ConfigOptions {
  config::Settings set;  // --set NAME=VALUE
  // The only whole-number parameters that stay symbols; nothing: all that no form depends on.
  std::optional<std::set<std::string>> symbols{};
};

// The model that `text` describes. Faults carry file, line and column: E30x of the reader, E304
// unknown key, E306 missing key, E311 to E313 kind, range and choice, E330 schema, E340 a name,
// E341 a reference, E342 layers that do not fit each other, E343 to E346 expressions, E348 inputs,
// E802 to E804 limits, E134 a setting; E210 and E232 of infer(). Cost: linear in the layers after
// repeats.
Result<ModelConfig> load_model_config(std::string_view text, std::string_view file_name,
                                      const ConfigOptions& options, Diagnostics& warnings);

// The same of a config that has been read.
Result<ModelConfig> load_model_config(const JsonValue& root, std::string_view file_name,
                                      const ConfigOptions& options, Diagnostics& warnings);

// The JSON Schema of configs, for editors and CI: made from the layer types' rows.
std::string model_config_schema();

}  // namespace plimsoll
