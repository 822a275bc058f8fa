#include "estimator/time/conv_choice.h"

#include <algorithm>
#include <array>
#include <functional>

#include "estimator/time/convolution.h"
#include "estimator/time/time_model.h"

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

bool runs(const ConvPlan& plan, ConvAlgorithm row) {
  const ConvAlgorithm kind = kind_of(plan);
  return kind == row || (is_product(kind) && is_product(row));
}

// Rows that one of the plans runs, each with its plan's scratch memory.
ConvCosts of_plans(const ConvCosts& costs, std::span<const ConvPlan> plans) {
  ConvCosts able;
  for (const ConvCost& row : costs.all()) {
    auto plan = std::ranges::find(plans, row.algorithm, kind_of);
    if (plan == plans.end()) {
      plan = std::ranges::find_if(plans, [&](const auto& p) { return runs(p, row.algorithm); });
    }
    if (plan == plans.end()) continue;
    ConvCost& cost = able.rows[static_cast<size_t>(able.count++)] = row;
    cost.workspace = static_cast<double>(plan->bytes);
  }
  return able;
}

bool is_pointwise(const ConvProblem<int64_t>& c) {
  const auto all_one = [](const std::array<int64_t, 3>& extents) {
    return extents[0] == 1 && extents[1] == 1 && extents[2] == 1;
  };
  return all_one(c.filter) && all_one(c.stride) && c.groups == 1;
}

// `costs` are asked for where the library's preference is not known.
Result<WorkspaceChoice> ask(const KernelAt& kernel, const ConvProblem<int64_t>& problem,
                            const ConvOffers& offers, const std::function<ConvCosts()>& costs) {
  if (offers.pointwise_by_gemm && is_pointwise(problem)) return WorkspaceChoice{};
  const auto book = offers.books.of(kernel.dtype, problem.channels_last);
  if (!book) return tl::make_unexpected(book.error());
  WorkspacePolicy policy = offers.policy;
  const auto pick = [&](std::span<const ConvPlan> plans) -> size_t {
    const ConvCosts able = of_plans(costs(), plans);
    if (able.count == 0) return 0;
    const ConvCost taken = preferred(able);
    const auto plan = std::ranges::find_if(plans, [&](const ConvPlan& p) {
      return runs(p, taken.algorithm) && static_cast<double>(p.bytes) == taken.workspace;
    });
    return static_cast<size_t>(plan - plans.begin());
  };
  if (costs) policy.pick = pick;
  return (*book)->choose(problem, kernel.pass, policy);
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
  const ConvCall call = call_of(kernel, context);
  const TimeContext::Model& model = convolution_model(kernel, context);
  std::function<ConvCosts()> costs;
  if (model.conv) costs = [&] { return model.conv->costs(call.shape); };
  return ask(kernel, call.problem, *context.offers(), costs);
}

std::optional<ConvCost> offered_cost(const KernelAt& kernel, const ConvCall& call,
                                     const ConvModel& model, const TimeContext& context) {
  const ConvCosts costs = model.costs(call.shape);
  const auto choice = ask(kernel, call.problem, *context.offers(), [&] { return costs; });
  if (!choice) return std::nullopt;
  const ConvCosts able = of_plans(costs, {&choice->plan, 1});
  ConvCost cost = able.count > 0 ? preferred(able) : costs.rows[0];
  cost.workspace = static_cast<double>(choice->plan.bytes);
  return cost;
}

std::vector<ConvCost> offered_costs(const KernelAt& kernel, const ConvCall& call,
                                    const ConvModel& model, const TimeContext& context) {
  const ConvCosts costs = model.costs(call.shape);
  const auto choice = ask(kernel, call.problem, *context.offers(), [&] { return costs; });
  if (!choice) return {costs.all().begin(), costs.all().end()};
  std::vector<ConvPlan> plans = choice->alternatives;
  plans.insert(plans.begin(), choice->plan);
  const ConvCosts able = of_plans(costs, plans);
  return {able.all().begin(), able.all().end()};
}

}  // namespace plimsoll
