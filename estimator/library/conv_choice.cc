#include "estimator/library/conv_choice.h"

#include <algorithm>
#include <array>

#include "graph/base/try.h"

namespace plimsoll {
namespace {

// Of times this close the model cannot tell the shorter one. Right most often is then the algorithm
// that comes first: 510 of the 581 forward convolutions whose algorithm DeepBench names, rather
// than 503. Width and order were chosen on these.
constexpr double kTie = 1.025;

// A plan's algorithm as the time model knows it: products in whatever form are one.
ConvAlgorithm kind_of(const ConvPlan& plan) {
  struct Row {
    std::string_view name;
    ConvAlgorithm algorithm;
  };
  static constexpr std::array kRows = {
      Row{"winograd", ConvAlgorithm::kWinograd},
      Row{"winograd_nonfused", ConvAlgorithm::kWinogradNonfused}, Row{"fft", ConvAlgorithm::kFft},
      Row{"fft_tiling", ConvAlgorithm::kFftTiling},
      Row{"implicit_precomp_gemm", ConvAlgorithm::kPrecomputedGemm}};
  const auto row = std::ranges::find(kRows, std::string_view(plan.algorithm), &Row::name);
  return row == kRows.end() ? ConvAlgorithm::kImplicitGemm : row->algorithm;
}

// cuDNN 8 and 9 name engines, not what they compute. Those that say Winograd may be of one kernel
// or of three, and gradients of weights reach in three what no product does (H100, 32 bits).
bool runs(const ConvPlan& plan, ConvAlgorithm row, Pass pass) {
  const ConvAlgorithm kind = kind_of(plan);
  if (kind == row || (is_product(kind) && is_product(row))) return true;
  return plan.engine >= 0 && row == ConvAlgorithm::kWinogradNonfused &&
         (kind == ConvAlgorithm::kWinograd || pass == Pass::kBackwardWeights);
}

// CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 of old libraries: products whose columns are added up where
// they belong, without scratch memory.
bool scatters(const ConvPlan& plan, Pass pass) {
  return plan.engine < 0 && pass == Pass::kBackwardData && plan.algorithm == "implicit_gemm";
}

// The plan that runs a row: of its name, else the first that is of its kind.
const ConvPlan* plan_of(ConvAlgorithm row, std::span<const ConvPlan> plans, Pass pass) {
  auto plan = std::ranges::find(plans, row, kind_of);
  if (plan == plans.end() && row == ConvAlgorithm::kColumns)
    plan = std::ranges::find_if(plans, [&](const auto& p) { return scatters(p, pass); });
  if (plan == plans.end())
    plan = std::ranges::find_if(plans, [&](const auto& p) { return runs(p, row, pass); });
  return plan == plans.end() ? nullptr : &*plan;
}

// A row with the plan that runs it.
struct PricedPlan {
  ConvCost cost;
  const ConvPlan* plan;
};

// The name of a row that a plan runs: the plan's where the row is of several, which are a Winograd
// of engines, that do not say how many kernels they are, and an old library's products.
ConvAlgorithm name_of(ConvAlgorithm row, const ConvPlan& plan, Pass pass) {
  if (plan.engine >= 0) return row == ConvAlgorithm::kWinogradNonfused ? kind_of(plan) : row;
  const bool named = plan.algorithm.starts_with("implicit_");
  return named && is_product(row) && !(row == ConvAlgorithm::kColumns && scatters(plan, pass))
             ? kind_of(plan)
             : row;
}

std::vector<PricedPlan> priced(const ConvCosts& costs, std::span<const ConvPlan> plans, Pass pass) {
  std::vector<PricedPlan> able;
  for (const ConvCost& row : costs.all()) {
    const ConvPlan* plan = plan_of(row.algorithm, plans, pass);
    if (plan == nullptr) continue;
    ConvCost& cost = able.emplace_back(PricedPlan{row, plan}).cost;
    cost.workspace = static_cast<double>(plan->bytes);
    cost.algorithm = name_of(row.algorithm, *plan, pass);
  }
  return able;
}

std::vector<ConvCost> costs_of(const std::vector<PricedPlan>& plans) {
  std::vector<ConvCost> costs;
  for (const PricedPlan& plan : plans) costs.push_back(plan.cost);
  return costs;
}

bool is_pointwise(const ConvProblem<int64_t>& c) {
  const auto all_one = [](const std::array<int64_t, 3>& extents) {
    return extents[0] == 1 && extents[1] == 1 && extents[2] == 1;
  };
  return all_one(c.filter) && all_one(c.stride) && c.groups == 1;
}

// Whether cuDNN's own choice is known: before, the shortest of what it has is.
constexpr int kAskedSince = 800;
bool is_known(const TimeContext& context) { return context.options().library.cudnn >= kAskedSince; }

Result<WorkspaceChoice> ask(const KernelAt& kernel, const ConvProblem<int64_t>& problem,
                            const ConvOffers& offers, const WorkspacePolicy& policy) {
  if (offers.behaviour.pointwise_by_gemm && is_pointwise(problem)) return WorkspaceChoice{};
  const auto tables = TRY(offers.tables.of(kernel.dtype, problem.channels_last));
  return tables->choose(problem, kernel.pass, policy);
}

// The cost of the plan that cuDNN named.
ConvCost cost_of_known(const WorkspaceChoice& choice, const ConvCosts& costs, Pass pass) {
  const auto able = priced(costs, {&choice.plan, 1}, pass);
  ConvCost cost = able.empty() ? costs.rows[0] : preferred(costs_of(able));
  // Transforms that the library prefers to tensor cores (cuDNN 8, TF32): none was measured, they
  // are priced as the product, assumed.
  if (able.empty()) cost.algorithm = kind_of(choice.plan);
  cost.workspace = static_cast<double>(choice.plan.bytes);
  return cost;
}

std::vector<ConvPlan> plans_of(const WorkspaceChoice& choice) {
  std::vector<ConvPlan> plans = {choice.plan};
  plans.insert(plans.end(), choice.alternatives.begin(), choice.alternatives.end());
  return plans;
}

// What was timed and taken took no longer than what it was timed beside, whatever each is priced
// at.
void bound_by_others(const WorkspaceChoice& choice, const ConvCosts& costs, Pass pass,
                     ConvCost& cost) {
  std::vector<ConvPlan> others = choice.alternatives;
  others.push_back({.engine = 0, .algorithm = "implicit_gemm"});  // is always listed
  for (const PricedPlan& other : priced(costs, others, pass))
    cost.seconds = std::min(cost.seconds, other.cost.seconds);
}

// Makes the shortest of what is offered the choice. Nothing where none of it is priced.
std::optional<ConvCost> take_shortest(WorkspaceChoice& choice, const ConvCosts& costs, Pass pass) {
  const std::vector<ConvPlan> plans = plans_of(choice);
  const auto able = priced(costs, plans, pass);
  if (able.empty()) return std::nullopt;
  const ConvCost best = preferred(costs_of(able));
  const auto run =
      std::ranges::find(able, best.algorithm, [](const PricedPlan& p) { return p.cost.algorithm; });
  choice.plan = *run->plan;
  choice.alternatives.clear();
  for (const ConvPlan& plan : plans) {
    if (&plan != run->plan) choice.alternatives.push_back(plan);
  }
  return best;
}

}  // namespace

ConvCost preferred(std::span<const ConvCost> costs) {
  const double shortest = std::ranges::min_element(costs, {}, &ConvCost::seconds)->seconds;
  ConvCost first = *std::ranges::find_if(
      costs, [&](const ConvCost& cost) { return cost.seconds <= kTie * shortest; });
  first.seconds = shortest;
  return first;
}

Result<ConvChoice> choose_convolution(const KernelAt& kernel, const TimeContext& context) {
  const ConvOffers& offers = *context.offers();
  const ConvCall call = call_of(kernel, context);
  const auto& model = convolution_model(kernel, context).conv;
  auto scratch = ask(kernel, call.problem, offers, offers.behaviour.policy);
  if (!scratch) return tl::make_unexpected(scratch.error());
  if (!model) return ConvChoice{std::move(*scratch), std::nullopt};
  const bool is_free = !is_known(context) && offers.behaviour.policy.forced.empty();
  const ConvCosts costs = model->costs(call.shape, is_free ? kWorthALook : kNoLimit);
  if (is_known(context)) {
    ConvCost cost = cost_of_known(*scratch, costs, kernel.pass);
    if (offers.behaviour.policy.benchmark) bound_by_others(*scratch, costs, kernel.pass, cost);
    return ConvChoice{std::move(*scratch), cost};
  }
  auto cost = take_shortest(*scratch, costs, kernel.pass);
  if (!cost && !offers.behaviour.policy.forced.empty()) {
    // What the library of this version does not have is asked for in vain.
    WorkspacePolicy free = offers.behaviour.policy;
    free.forced.clear();
    scratch = ask(kernel, call.problem, offers, free);
    if (!scratch) return tl::make_unexpected(scratch.error());
    cost = take_shortest(*scratch, costs, kernel.pass);
  }
  return ConvChoice{std::move(*scratch), cost.value_or(costs.rows[0])};
}

std::vector<ConvCost> offered_costs(const KernelAt& kernel, const TimeContext& context) {
  const ConvCall call = call_of(kernel, context);
  const ConvCosts costs = convolution_model(kernel, context).conv->costs(call.shape);
  const auto choice =
      ask(kernel, call.problem, *context.offers(), context.offers()->behaviour.policy);
  if (!choice) return {};
  const bool asked = !choice->plan.algorithm.empty() && choice->plan.algorithm != "im2col";
  if (!asked) return {costs.all().begin(), costs.all().end()};
  const std::vector<ConvPlan> plans = plans_of(*choice);
  return costs_of(priced(costs, plans, kernel.pass));
}

TimeContext within(const TimeContext& context, int64_t bytes) {
  ConvOffers offers = *context.offers();
  offers.behaviour.policy.limit = std::min(bytes, offers.behaviour.policy.limit.value_or(bytes));
  return context.with(context.options(), std::make_shared<const ConvOffers>(std::move(offers)));
}

}  // namespace plimsoll
