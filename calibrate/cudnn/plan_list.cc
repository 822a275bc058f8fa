#include "calibrate/cudnn/plan_list.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "calibrate/cudnn/conv_graph.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

constexpr int64_t kMostPlans = 64;  // the longest list seen has 41

// Names of the two lists of notes, in the order of the header's enumerations.
constexpr std::array kNumericalNotes = {"tensor_core",
                                        "down_convert_inputs",
                                        "reduced_precision_reduction",
                                        "fft",
                                        "nondeterministic",
                                        "winograd",
                                        "winograd_tile_4x4",
                                        "winograd_tile_6x6",
                                        "winograd_tile_13x13",
                                        "strict_nan_prop"};

// Of the plan as cuDNN writes it: {..., "knobChoices": {"CUDNN_KNOB_TYPE_TILE_SIZE": 2, ...}}.
std::vector<std::pair<std::string, int64_t>> knobs_of(const Descriptor& plan) {
  std::vector<char> text;
  try {
    text = plan.get<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 1 << 14);
  } catch (const CudnnRefusal&) {
    return {};  // before 9.9 there is none
  }
  std::string_view json(text.data(), text.size());
  std::vector<std::pair<std::string, int64_t>> knobs;
  const size_t open = json.find('{', json.rfind("\"knobChoices\""));
  if (open == json.npos) return knobs;
  const size_t close = json.find('}', open);
  const auto choices = read_json(json.substr(open, close - open + 1), "knobChoices");
  if (!choices || !choices->members()) return knobs;
  constexpr std::string_view kPrefix = "CUDNN_KNOB_TYPE_";
  for (const JsonMember& choice : *choices->members()) {
    const bool prefixed = choice.key.starts_with(kPrefix);
    knobs.emplace_back(choice.key.substr(prefixed ? kPrefix.size() : 0),
                       choice.value.integer().value_or(-1));
  }
  return knobs;
}

void aim(Descriptor& at, const CudnnTarget& target, cudnnBackendAttributeName_t device,
         cudnnBackendAttributeName_t handle) {
  if (target.device) {
    at.set(device, *target.device);
  } else {
    at.set(handle, CUDNN_TYPE_HANDLE, std::vector{target.handle});
  }
}

// Nothing where cuDNN refuses the plan of a configuration that it listed itself.
std::optional<ListedPlan> plan_of(const CudnnFunctions& cudnn, const Descriptor& config,
                                  const CudnnTarget& target) {
  const auto engine =
      config.get_descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (engine.empty()) return std::nullopt;
  AskedPlan asked;
  asked.engine = engine[0].get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1).at(0);
  const auto notes = engine[0].get<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                                CUDNN_TYPE_NUMERICAL_NOTE, 32);
  for (const auto note : notes) {
    const auto number = static_cast<size_t>(note);
    asked.notes.push_back(number < kNumericalNotes.size() ? kNumericalNotes[number]
                                                          : fmt::format("note_{}", number));
  }
  try {
    Descriptor plan(cudnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    aim(plan, target, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
    plan.finalize("a plan");
    asked.bytes =
        plan.get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1).at(0);
    asked.knobs = knobs_of(plan);
    return ListedPlan{std::move(asked), std::move(plan)};
  } catch (const CudnnRefusal&) {
    return std::nullopt;
  }
}

std::vector<ListedPlan> list(const CudnnFunctions& cudnn, const Descriptor& graph,
                             cudnnBackendHeurMode_t mode, const CudnnTarget& target) {
  Descriptor heuristic(cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, std::vector{mode});
  // On a GPU that is there the graph has its handle.
  if (target.device) heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.device);
  heuristic.finalize("the heuristic");
  std::vector<ListedPlan> plans;
  for (const Descriptor& config : heuristic.get_descriptors(
           CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMostPlans)) {
    if (auto plan = plan_of(cudnn, config, target)) plans.push_back(std::move(*plan));
  }
  return plans;
}

}  // namespace

PlanList list_plans(const CudnnFunctions& cudnn, const Descriptor& graph,
                    const CudnnTarget& target) {
  auto plans = list(cudnn, graph, CUDNN_HEUR_MODE_INSTANT, target);
  if (!plans.empty()) return {"instant", std::move(plans), {}};
  plans = list(cudnn, graph, CUDNN_HEUR_MODE_FALLBACK, target);
  if (!plans.empty()) return {"fallback", std::move(plans), {}};
  return {"fallback", {}, "cuDNN lists no plan"};
}

PlanList list_plans(const CudnnFunctions& cudnn, const OperationGraph& graph,
                    const CudnnTarget& target) {
  PlanList listed = list_plans(cudnn, graph.graph(), target);
  for (ListedPlan& plan : listed.plans) plan.plan.bytes += graph.scratch_bytes();
  return listed;
}

PlanList list_plans(const CudnnFunctions& cudnn, const ConvQuestion& question,
                    const CudnnTarget& target) {
  const ConvProblem<int64_t>& c = question.problem;
  if (c.groups < 1 || c.c % c.groups != 0 || c.k % c.groups != 0)
    return {"instant", {}, "the groups do not divide the channels"};
  try {
    return list_plans(cudnn, ConvGraph(cudnn, question, target.handle).graph(), target);
  } catch (const CudnnRefusal& refusal) {
    return {"instant", {}, refusal.what()};
  }
}

}  // namespace plimsoll
