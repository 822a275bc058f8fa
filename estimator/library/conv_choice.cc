#include "estimator/library/conv_choice.h"

#include <algorithm>
#include <array>

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

bool is_product(ConvAlgorithm a) {
  return a == ConvAlgorithm::kImplicitGemm || a == ConvAlgorithm::kPrecomputedGemm ||
         a == ConvAlgorithm::kColumns;
}

// cuDNN 8 and 9 name engines, not what they compute. Those that say Winograd may be of one kernel
// or of three, and gradients of weights reach in three what no product does (H100, 32 bits).
bool runs(const ConvPlan& plan, ConvAlgorithm row, Pass pass) {
  const ConvAlgorithm kind = kind_of(plan);
  if (kind == row || (is_product(kind) && is_product(row))) return true;
  return plan.engine >= 0 && row == ConvAlgorithm::kWinogradNonfused &&
         (kind == ConvAlgorithm::kWinograd || pass == Pass::kBackwardWeights);
}

// Rows that one of the plans runs, each with its plan's scratch memory.
ConvCosts of_plans(const ConvCosts& costs, std::span<const ConvPlan> plans, Pass pass) {
  ConvCosts able;
  for (const ConvCost& row : costs.all()) {
    auto plan = std::ranges::find(plans, row.algorithm, kind_of);
    if (plan == plans.end()) {
      plan =
          std::ranges::find_if(plans, [&](const auto& p) { return runs(p, row.algorithm, pass); });
    }
    if (plan == plans.end()) continue;
    ConvCost& cost = able.rows[static_cast<size_t>(able.count++)] = row;
    cost.workspace = static_cast<double>(plan->bytes);
    // By the name of what was chosen.
    if (plan->engine >= 0 && row.algorithm == ConvAlgorithm::kWinogradNonfused)
      cost.algorithm = kind_of(*plan);
  }
  return able;
}

bool is_pointwise(const ConvProblem<int64_t>& c) {
  const auto all_one = [](const std::array<int64_t, 3>& extents) {
    return extents[0] == 1 && extents[1] == 1 && extents[2] == 1;
  };
  return all_one(c.filter) && all_one(c.stride) && c.groups == 1;
}

// Whether cuDNN's own choice is known: before, each side has its own rule.
constexpr int kAskedSince = 800;

Result<WorkspaceChoice> ask(const KernelAt& kernel, const ConvProblem<int64_t>& problem,
                            const ConvOffers& offers) {
  if (offers.pointwise_by_gemm && is_pointwise(problem)) return WorkspaceChoice{};
  const auto tables = offers.tables.of(kernel.dtype, problem.channels_last);
  if (!tables) return tl::make_unexpected(tables.error());
  return (*tables)->choose(problem, kernel.pass, offers.policy);
}

}  // namespace

ConvCost preferred(const ConvCosts& costs) {
  const double shortest = std::ranges::min_element(costs.all(), {}, &ConvCost::seconds)->seconds;
  ConvCost first = *std::ranges::find_if(
      costs.all(), [&](const ConvCost& cost) { return cost.seconds <= kTie * shortest; });
  first.seconds = shortest;
  return first;
}

Result<WorkspaceChoice> conv_scratch(const KernelAt& kernel, const TimeContext& context) {
  return ask(kernel, call_of(kernel, context).problem, *context.offers());
}

std::optional<ConvCost> offered_cost(const KernelAt& kernel, const ConvCall& call,
                                     const ConvModel& model, const TimeContext& context) {
  if (context.options().library.cudnn < kAskedSince) return std::nullopt;
  const auto choice = ask(kernel, call.problem, *context.offers());
  if (!choice) return std::nullopt;
  const ConvCosts costs = model.costs(call.shape);
  const ConvCosts able = of_plans(costs, {&choice->plan, 1}, kernel.pass);
  ConvCost cost = able.count > 0 ? preferred(able) : costs.rows[0];
  // Transforms that the library prefers to tensor cores (cuDNN 8, TF32): none was measured, they
  // are priced as the product, assumed.
  if (able.count == 0) cost.algorithm = kind_of(choice->plan);
  cost.workspace = static_cast<double>(choice->plan.bytes);
  return cost;
}

std::vector<ConvCost> offered_costs(const KernelAt& kernel, const ConvCall& call,
                                    const ConvModel& model, const TimeContext& context) {
  const ConvCosts costs = model.costs(call.shape);
  const auto choice = ask(kernel, call.problem, *context.offers());
  const bool known = choice && context.options().library.cudnn >= kAskedSince;
  if (!known) return {costs.all().begin(), costs.all().end()};
  std::vector<ConvPlan> plans = choice->alternatives;
  plans.insert(plans.begin(), choice->plan);
  const ConvCosts able = of_plans(costs, plans, kernel.pass);
  return {able.all().begin(), able.all().end()};
}

}  // namespace plimsoll
