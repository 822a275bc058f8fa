#include "estimator/library/workspace/tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "estimator/library/workspace/formula_choice.h"
#include "estimator/library/workspace/on_card.h"
#include "graph/base/checked.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

// Capabilities cuDNN was asked about; the next lower one stands for another.
constexpr std::array kAsked = {61, 70, 75, 80, 86, 89, 90};
constexpr std::array kMaxwellAndPascal = {52, 53, 60, 61, 62};

int stand_in(int capability) {
  const auto above = std::upper_bound(kAsked.begin(), kAsked.end(), capability);
  return above == kAsked.begin() ? kAsked.front() : *std::prev(above);
}

bool answers_alike(int capability) {
  const auto among = [&](const auto& list) {
    return std::find(list.begin(), list.end(), capability) != list.end();
  };
  return among(kAsked) || among(kMaxwellAndPascal);
}

bool half_precision(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

ConvPlan described(const KnownPlan& plan, Pass pass) {
  return {.engine = plan.form.engine,
          .tile = plan.form.tile,
          .tensor_core = plan.form.tensor_core,
          .algorithm = algorithm_name(plan.form, pass),
          .bytes = plan.bytes};
}

// What a framework may take of cuDNN's list: never what rounds the operands to half precision.
std::vector<ConvPlan> taken_from(const std::vector<AskedPlan>& answer, Pass pass,
                                 bool tensor_allowed) {
  std::vector<ConvPlan> plans;
  for (size_t i = 0; i < answer.size(); ++i) {
    const AskedPlan& plan = answer[i];
    const bool tensor = plan.has("tensor_core");
    if (plan.has("down_convert_inputs") || (tensor && !tensor_allowed)) continue;
    plans.push_back({.engine = static_cast<int>(plan.engine),
                     .tile = plan.tile(),
                     .tensor_core = tensor,
                     .algorithm = algorithm_of(plan, pass),
                     .bytes = plan.bytes,
                     .preference = static_cast<int>(i)});
  }
  return plans;
}

// PyTorch runs depthwise convolutions in its own kernels, unless they are channels-last or suit
// cuDNN's half-precision ones (aten/src/ATen/native/Convolution.cpp, use_cudnn_depthwise).
bool own_kernel(const WorkspaceShape& v, DType dtype, bool channels_last) {
  if (v.groups == 1 || v.groups != v.c || v.k % v.c != 0 || channels_last) return false;
  const bool suits_cudnn = dtype == DType::kFloat16 && v.c >= 32 && v.dil_h == 1 && v.dil_w == 1 &&
                           v.stride_h == v.stride_w && v.r == v.s && v.r <= 5 && v.r % 2 == 1;
  return !suits_cudnn;
}

// PyTorch asks cuDNN for no convolution of bf16 before compute capability 8.0 (Convolution.cpp,
// use_cudnn; CUDAHooks.cpp, supportsBFloat16ConvolutionWithCuDNNv8).
bool convolves_by_columns(const WorkspaceKey& key) {
  return key.dtype == DType::kBFloat16 && key.capability < 80;
}

double flop(const WorkspaceShape& v) {
  const int64_t taps = v.c / v.groups * v.r * v.s;
  return 2.0 * static_cast<double>(v.n) * static_cast<double>(v.p * v.q) *
         static_cast<double>(v.k) * static_cast<double>(taps);
}

int64_t tensor_bytes(const WorkspaceShape& v, DType dtype) {
  const int64_t size = bits(dtype) / 8;
  return size *
         (v.n * v.c * v.h * v.w + v.n * v.k * v.p * v.q + v.k * (v.c / v.groups) * v.r * v.s);
}

// What cuDNN would list beside the two plans that are known.
int64_t largest_plain(const WorkspaceShape& v, Pass pass, const WorkspaceKey& key, int64_t known) {
  const bool depthwise = v.groups > 1 && v.groups == v.c;
  if (pass != Pass::kForward || key.capability >= 70 || depthwise) return known;
  return std::max(known, workspace_bytes({.engine = 2}, pass, v, key.dtype).value_or(0));
}

// Where tensor cores may take the problem: 95 % of what an H100 gave out for 1,482 convolutions lie
// within half more than copies of all operands. Elsewhere, in folds over networks, at least 98.8 %
// of the rule's answers lie within 64 KiB or 1 % (workspace_folds_test.cc).
void widen(WorkspaceChoice& choice, const WorkspaceShape& v, DType dtype, bool tensor_cores) {
  const int64_t bytes = choice.plan.bytes;
  if (tensor_cores) {
    const LayoutCopies copies = layout_copies(v, dtype);
    choice.basis = WorkspaceBasis::kInterval;
    choice.low = 0;
    choice.high = std::max(bytes, copies.x + copies.y + copies.w) / 2 * 3;
    return;
  }
  const int64_t slack = std::max<int64_t>(64 << 10, bytes / 100);
  choice.low = std::max<int64_t>(0, bytes - slack);
  choice.high = bytes + slack;
}

Result<std::shared_ptr<const LayerList>> read_layers(const Hwdb& hwdb) {
  const auto bytes = TRY(hwdb.read("workspaces/layers.bin"));
  auto list = TRY(LayerList::read(bytes));
  return std::make_shared<const LayerList>(std::move(list));
}

std::vector<ConvPlan>::iterator fastest(std::vector<ConvPlan>& plans, const WorkspaceShape& shape,
                                        Pass pass, DType dtype) {
  const auto cost = [&](const ConvPlan& plan) { return plan_seconds(plan, shape, pass, dtype); };
  return std::min_element(plans.begin(), plans.end(),
                          [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
}

}  // namespace

const char* name(WorkspaceBasis basis) {
  switch (basis) {
    case WorkspaceBasis::kAsked:
      return "asked";
    case WorkspaceBasis::kTable:
      return "table";
    case WorkspaceBasis::kRule:
      return "rule";
    case WorkspaceBasis::kInterval:
      return "interval";
  }
  return "interval";
}

double plan_seconds(const ConvPlan& plan, const WorkspaceShape& shape, Pass, DType dtype) {
  constexpr double kBytes = 0.5e12, kPlain = 15e12, kTensor = 100e12, kWinograd = 1.5;
  const double memory = static_cast<double>(tensor_bytes(shape, dtype)) / kBytes;
  if (!plan.tensor_core) {
    const double rate = plan.algorithm == "winograd" ? kWinograd * kPlain : kPlain;
    return std::max(flop(shape) / rate, memory);
  }
  double rate = kTensor;
  if (shape.groups > 1) {
    const int64_t in = shape.c / shape.groups, out = shape.k / shape.groups;
    rate *= static_cast<double>(in) / 1000 * static_cast<double>(out) / 1000;
  }
  return 2 * static_cast<double>(plan.bytes) / kBytes + std::max(flop(shape) / rate, memory);
}

struct WorkspaceTables::Rule {
  Rule(const Hwdb& from, std::string file) : hwdb(from), name(std::move(file)) {}
  const Result<WorkspaceRule>& get() {
    std::call_once(asked, [&] {
      const auto text = hwdb.read(name);
      rule = text ? WorkspaceRule::read(*text, name) : tl::unexpected(text.error());
    });
    return rule;
  }

  Hwdb hwdb;
  std::string name;
  std::once_flag asked;
  Result<WorkspaceRule> rule;
};

Result<WorkspaceTables> WorkspaceTables::load(const Hwdb& hwdb, const WorkspaceKey& key,
                                              std::shared_ptr<const AskedWorkspaces> asked) {
  WorkspaceTables tables;
  tables.key_ = key;
  tables.asked_ = std::move(asked);
  if (key.cudnn_major < 8) return tables;
  const std::string which = "9.10-sm" + std::to_string(stand_in(key.capability)) +
                            (half_precision(key.dtype) ? "-fp16" : "-fp32") +
                            (key.channels_last ? "-nhwc" : "-nchw");
  const std::string table = "workspaces/cudnn-" + which + ".bin";
  const std::string rule = "workspaces/rule-" + which + ".json";
  if (hwdb.contains(table)) {
    auto layers = TRY(read_layers(hwdb));
    auto bytes = TRY(hwdb.read(table));
    auto read = TRY(WorkspaceTable::read(std::move(bytes)));
    if (read.layers() != layers->size()) {
      return error("E301", table + " does not belong to workspaces/layers.bin");
    }
    tables.layers_ = std::move(layers);
    tables.table_ = std::make_shared<const WorkspaceTable>(std::move(read));
  }
  if (hwdb.contains(rule)) tables.rule_ = std::make_shared<Rule>(hwdb, rule);
  return tables;
}

Result<KnownPlans> WorkspaceTables::known(const WorkspaceShape& shape, Pass pass,
                                          WorkspaceBasis& basis) const {
  basis = WorkspaceBasis::kRule;
  const auto layer = table_ ? layers_->find(shape) : std::nullopt;
  if (layer) {
    KnownPlans plans = table_->find(*layer, shape, pass, key_.dtype);
    const bool asked = plans.batch == shape.n && answers_alike(key_.capability) &&
                       key_.cudnn_major == 9 && (key_.cudnn_minor <= 10 || key_.capability <= 75);
    if (asked) basis = WorkspaceBasis::kTable;
    if (plans.batch == shape.n) return plans;
    // An exception's bytes hold for the batch that was asked; elsewhere they grow with it.
    for (auto* plan : {&plans.plain, &plans.tensor}) {
      if (*plan && (*plan)->exception) {
        const auto grown = checked_multiply((*plan)->bytes / plans.batch, shape.n);
        if (!grown) return error("E232", "the convolution is too large");
        (*plan)->bytes = *grown;
        basis = WorkspaceBasis::kInterval;
      }
    }
    return plans;
  }
  KnownPlans plans;
  if (!rule_) return plans;
  const Result<WorkspaceRule>& rule = rule_->get();
  if (!rule) return tl::unexpected(rule.error());
  const auto guess = [&](const std::optional<WorkspaceRule::Guess>& found) {
    std::optional<KnownPlan> plan;
    if (!found) return plan;
    const auto bytes = workspace_bytes(found->form, pass, shape, key_.dtype);
    // Without a formula: as many copies as there are operands.
    plan = KnownPlan{.form = found->form, .bytes = bytes.value_or(0)};
    if (!bytes) plan->exception = true;
    return plan;
  };
  plans.plain = guess(rule->plain(shape, pass));
  const auto tensor = rule->tensor(shape, pass);
  plans.tensor = guess(tensor);
  plans.tensor_first = tensor && tensor->preferred;
  return plans;
}

Result<std::vector<ConvPlan>> WorkspaceTables::listed(const WorkspaceShape& shape, Pass pass,
                                                      bool tensor_allowed,
                                                      WorkspaceChoice& choice) const {
  const auto found = TRY(known(shape, pass, choice.basis));
  std::vector<ConvPlan> order;
  if (!found.plain && !found.tensor) choice.basis = WorkspaceBasis::kInterval;
  if (found.plain) order.push_back(described(*found.plain, pass));
  if (found.tensor && tensor_allowed) {
    order.insert(found.tensor_first ? order.begin() : order.end(), described(*found.tensor, pass));
  }
  choice.largest = tensor_allowed ? found.largest : 0;
  for (const ConvPlan& plan : order) choice.largest = std::max(choice.largest, plan.bytes);
  choice.largest = largest_plain(shape, pass, key_, choice.largest);
  return order;
}

// cuDNN always lists an engine without scratch.
WorkspaceChoice WorkspaceTables::without_scratch(WorkspaceChoice choice,
                                                 const WorkspaceShape& shape,
                                                 std::optional<int64_t> limit) const {
  choice.plan = {.engine = 0, .algorithm = "implicit_gemm"};
  if (choice.basis == WorkspaceBasis::kInterval && key_.capability >= 70) {
    const LayoutCopies copies = layout_copies(shape, key_.dtype);
    choice.high = std::min(limit.value_or(std::numeric_limits<int64_t>::max()),
                           copies.x + copies.y + copies.w);
  }
  return choice;
}

// Where the framework runs a kernel of its own, or is told which algorithm to take.
std::optional<WorkspaceChoice> WorkspaceTables::unasked(const WorkspaceShape& shape, Pass pass,
                                                        const WorkspacePolicy& policy) const {
  if (policy.rule == ScratchRule::kAten && own_kernel(shape, key_.dtype, key_.channels_last))
    return WorkspaceChoice{.plan = {.algorithm = "depthwise"}, .basis = WorkspaceBasis::kRule};
  if (policy.rule == ScratchRule::kAten && convolves_by_columns(key_))
    return columns_of_one_image(shape, key_.dtype);
  if (policy.forced.empty()) return std::nullopt;
  auto choice = choice_of(shape, pass, key_.dtype, key_.cudnn_major, policy.forced);
  const bool beyond = choice && policy.limit && choice->plan.bytes > *policy.limit;
  if (!beyond || choice->plan.algorithm == "im2col") return choice;
  // Products need no indices that are computed ahead; others are not there.
  const bool product = choice->plan.algorithm == "implicit_precomp_gemm";
  return product ? choice_of(shape, pass, key_.dtype, key_.cudnn_major, "implicit_gemm")
                 : std::nullopt;
}

Result<WorkspaceChoice> WorkspaceTables::choose(const ConvProblem<int64_t>& problem, Pass pass,
                                                const WorkspacePolicy& policy) const {
  if (problem.groups < 1 || pass == Pass::kBackward) {
    return error("E232",
                 "the workspace of a convolution is of one pass (forward, data or weights), and of "
                 "one group or more");
  }
  const auto shape = conv_shape(problem);
  if (!shape) {
    const bool three = problem.in[0] > 1 || problem.filter[0] > 1 || problem.out[0] > 1;
    if (!three) return error("E232", "the convolution is too large or its groups do not divide it");
    return bounds_only(problem, key_.dtype, key_.capability);
  }
  if (auto choice = unasked(*shape, pass, policy)) return std::move(*choice);
  const bool tensor_allowed =
      policy.rule == ScratchRule::kIdeal || policy.tensor_cores || half_precision(key_.dtype);
  WorkspaceChoice choice;
  std::vector<ConvPlan> order;
  const auto* answer = asked_ ? asked_->find({problem, pass, key_.dtype}) : nullptr;
  if (answer) {
    order = taken_from(*answer, pass, tensor_allowed);
    for (const ConvPlan& plan : order) choice.largest = std::max(choice.largest, plan.bytes);
    choice.basis = WorkspaceBasis::kAsked;
  } else if (key_.cudnn_major < 8) {
    return legacy_of(*shape, pass, key_.dtype, key_.capability, policy.limit);
  } else {
    auto plans = TRY(listed(*shape, pass, tensor_allowed, choice));
    order = std::move(plans);
  }
  // Other than cuDNN says of a described card, whose answers kIdeal asks for.
  const bool as_on_card = key_.capability >= 90 && !key_.channels_last && tensor_allowed &&
                          policy.rule != ScratchRule::kIdeal && !(answer && asked_->on_card());
  if (const auto bytes =
          as_on_card ? product_for_each_image(*shape, pass, key_.dtype) : std::nullopt) {
    order.insert(order.begin(), {.tensor_core = true, .algorithm = "gemm", .bytes = *bytes});
    choice.basis = WorkspaceBasis::kInterval;
  }
  if (as_on_card) choice.largest = std::max(choice.largest, largest_for_weights(*shape, pass));
  if (policy.limit) {
    std::erase_if(order, [&](const ConvPlan& plan) { return plan.bytes > *policy.limit; });
    choice.largest = std::min(choice.largest, *policy.limit);
  }
  if (order.empty()) return without_scratch(std::move(choice), *shape, policy.limit);
  const bool among_tensor =
      std::any_of(order.begin(), order.end(), [](const ConvPlan& p) { return p.tensor_core; });
  auto best = order.begin();
  if (policy.benchmark) best = fastest(order, *shape, pass, key_.dtype);
  choice.plan = *best;
  order.erase(best);
  choice.alternatives = std::move(order);
  choice.low = choice.high = choice.plan.bytes;
  const bool of_this_problem =
      choice.basis == WorkspaceBasis::kTable || choice.basis == WorkspaceBasis::kAsked;
  if (!of_this_problem) widen(choice, *shape, key_.dtype, among_tensor);
  return choice;
}

}  // namespace plimsoll
