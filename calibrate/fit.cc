#include "calibrate/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/formula.h"
#include "calibrate/score.h"
#include "calibrate/search.h"
#include "estimator/kernels/fit_class.h"
#include "estimator/library/conv_call.h"
#include "graph/base/try.h"
#include "hwdb/calibration_terms.h"

namespace plimsoll {
namespace {

constexpr int kFolds = 5;
constexpr int kSimplexSteps = 1500;
// Beyond it a kernel is an accident of the library, not a lesson about the formulas.
constexpr double kLargestLoss = 1.5;
// Shorter memory-bound calls measured the host (NeuSight's notes).
constexpr double kShortestRows = .15e-3;
// How much further off (ln) a fit may be that was measured on another architecture or library.
constexpr double kDerivedRange = .1;

bool winograd_serves(const MeasuredKernel& k) {
  const auto* p = std::get_if<ConvProblem<int64_t>>(&k.kernel.problem);
  return p != nullptr && p->filter[1] == 3 && p->filter[2] == 3 && p->stride[1] == 1;
}

bool is_odd(const MeasuredKernel& k) {
  const auto* p = std::get_if<ConvProblem<int64_t>>(&k.kernel.problem);
  return p != nullptr && has_odd_channels(*p);
}

bool in_plan(const FitPlan& plan, const MeasuredKernel& k) {
  const bool card =
      std::ranges::any_of(plan.cards, [&](const FitCard& c) { return c.device == k.device; });
  const bool source = std::ranges::find(plan.sources, k.source) != plan.sources.end();
  const int library = plan.measured_library > 0 ? plan.measured_library : plan.library;
  if (!card || !source || k.library != library || k.host_bound) return false;
  if (!plan.lender.empty() && winograd_serves(k)) return false;
  if (plan.shapes_apart && is_odd(k) != plan.odd_shapes) return false;
  if (plan.arithmetic != kAnyArithmetic && name(k.arithmetic) != plan.arithmetic) return false;
  return plan.kernel_class != "rows" || k.seconds > kShortestRows;
}

struct Start {
  Trial trial;
  Box box;
  Trial without;  // each term where it is not needed
};

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

double clock_of(const Fit& fit, std::string_view device, double otherwise) {
  for (const auto& [id, clock] : fit.clocks) {
    if (id == device) return clock;
  }
  return otherwise;
}

Start start_of(const FitPlan& plan, const Fit* base, const Fit* lender) {
  Start start;
  const auto rows = coefficient_rows(plan.kernel_class);
  for (size_t i = 0; i < rows.size(); ++i) {
    const CoefficientRow& row = rows[i];
    double value = base != nullptr ? base->terms[i] : row.initial;
    bool fixed = contains(plan.held, row.name) || contains(plan.held, "all");
    if (lender != nullptr && contains(plan.lent, row.name)) value = lender->terms[i];
    if (row.name.starts_with("tile_")) value *= plan.tiles;
    for (const GivenTerm& term : plan.given) {
      if (term.name == row.name) value = term.value;
    }
    if (row.name == "split") {
      value = !plan.splits_k ? 0 : plan.many_slices ? 2 : 1;
      fixed = true;
    }
    if (row.name.starts_with("align")) fixed |= !plan.odd_rows;
    // Facts, from single kernels that the transcriptions do not hold.
    fixed |= row.name.starts_with("last_whole") || row.name.starts_with("clocks_");
    if (row.name == "few_columns") {
      value = plan.few_columns;
      fixed = true;
    }
    if (row.name == "wgrad_steps") {
      if (base == nullptr || !plan.adds_tiles) value = 0;
      fixed = true;
    }
    fixed |= plan.kernel_class == "rows" && row.name.ends_with("_backward");
    if (plan.kernel_class != "gemm" && row.name.starts_with("transpose_")) {
      value = 0;
      fixed = true;
    }
    start.trial.push_back(value);
    start.box.low.push_back(fixed ? value : row.low);
    start.box.high.push_back(fixed ? value : row.high);
    start.without.push_back(base != nullptr ? value : 0);
  }
  for (const FitCard& card : plan.cards) {
    // A base has seen more of a card that both know.
    const double known = base != nullptr ? clock_of(*base, card.device, 0) : 0;
    start.trial.push_back(known > 0 ? known : std::min(1.0, card.clock_high));
    start.box.low.push_back(known > 0 ? known : card.clock_low);
    start.box.high.push_back(known > 0 ? known : card.clock_high);
  }
  return start;
}

// Mean |ln error|; where the algorithm is known, its own time counts too, and preferring another.
double loss(const Formula& formula, const Trial& trial, const std::vector<bool>& skip) {
  const auto values = formula.values(trial, skip);
  double sum = 0;
  int count = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (skip[i]) continue;
    const double measured = formula.kernel(i).seconds;
    double error = std::fabs(std::log(values[i].seconds / measured));
    if (values[i].named_seconds > 0) {
      const double named = std::fabs(std::log(values[i].named_seconds / measured));
      const double preferred = std::log(values[i].named_seconds / values[i].seconds);
      error = .5 * error + .5 * named + .5 * std::min(1.0, preferred);
    }
    sum += std::min(error, kLargestLoss);
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

Trial solve(const Formula& formula, const Trial& start, const Box& box,
            const std::vector<bool>& skip) {
  return minimise([&](const Point& p) { return loss(formula, p, skip); }, start, box,
                  kSimplexSteps);
}

// The best terms for kernels that are not skipped; one without which the search tells no
// difference is none of the fit's coefficients, for no measurement determines it: it is idle, or
// stays the base's, and `box` holds it there.
Trial solve_needed(const Formula& formula, const Start& start, Box& box,
                   const std::vector<bool>& skip) {
  Trial trial = solve(formula, start.trial, box, skip);
  const double most = loss(formula, trial, skip) + kConverged;
  bool all_needed = true;
  for (size_t i = 0; i < start.without.size(); ++i) {
    if (box.low[i] == box.high[i] || start.without[i] < box.low[i]) continue;
    Trial without = trial;
    without[i] = start.without[i];
    if (loss(formula, without, skip) > most) continue;
    trial = without;
    box.low[i] = box.high[i] = trial[i];
    all_needed = false;
  }
  return all_needed ? trial : solve(formula, trial, box, skip);
}

// What a block's adding of its tile takes is fitted last, and alone. Fitted with the rest it draws
// on tiles and transforms, which kernels that name no algorithm cannot tell apart: kernels left out
// get no nearer, steps get further off.
Trial with_weights(const FitPlan& plan, const Formula& formula, Trial trial,
                   const std::vector<bool>& skip) {
  if (!plan.adds_tiles || !plan.base.empty()) return trial;
  const CoefficientRow row = coefficient_rows(plan.kernel_class)[kWgradSteps];
  trial[kWgrad] = 0;
  trial[kWgradSteps] = row.initial;
  Box box{trial, trial};
  box.low[kWgradSteps] = row.low;
  box.high[kWgradSteps] = row.high;
  return solve(formula, trial, box, skip);
}

// Fewer shapes than this are left out one by one.
constexpr size_t kFewShapes = 12;

std::vector<int> folds_of(const Formula& formula) {
  std::set<uint32_t> shapes;
  for (size_t i = 0; i < formula.size(); ++i) shapes.insert(formula.kernel(i).shape);
  std::vector<int> folds;
  for (size_t i = 0; i < formula.size(); ++i) {
    const uint32_t shape = formula.kernel(i).shape;
    const auto place = std::distance(shapes.begin(), shapes.find(shape));
    folds.push_back(shapes.size() < kFewShapes ? static_cast<int>(place)
                                               : static_cast<int>(shape % kFolds));
  }
  return folds;
}

// Each kernel by terms learnt without its fold, from the start.
std::vector<LeftOut> leave_out(const FitPlan& plan, const Formula& formula, const Start& start) {
  const std::vector<int> fold_of = folds_of(formula);
  const std::vector<bool> none(formula.size(), false);
  std::vector<LeftOut> left_out;
  for (int fold = 0; fold <= std::ranges::max(fold_of); ++fold) {
    std::vector<bool> skip;
    for (const int of : fold_of) skip.push_back(of == fold);
    Box box = start.box;
    const Trial others = with_weights(plan, formula, solve_needed(formula, start, box, skip), skip);
    const auto values = formula.values(others, none);
    for (size_t i = 0; i < formula.size(); ++i) {
      if (skip[i]) left_out.push_back({i, values[i].seconds});
    }
  }
  return left_out;
}

void count_algorithms(FitReport& report, const Formula& formula, const Trial& trial) {
  const auto values = formula.values(trial, std::vector<bool>(formula.size(), false));
  for (const ClassCost& value : values) {
    if (value.named_seconds <= 0) continue;
    ++report.named;
    report.agreed += value.named_seconds <= value.seconds ? 1 : 0;
  }
}

// What a plan says of a fit, before anything is measured.
Fit blank_fit(const FitPlan& plan, const Trial& trial) {
  Fit fit;
  fit.kernel_class = plan.kernel_class;
  fit.arithmetic = plan.arithmetic;
  fit.compute_capability = plan.capabilities.front();
  fit.library = plan.library;
  fit.library_first = plan.first;
  fit.library_last = plan.last;
  fit.in_situ = plan.in_situ;
  fit.queued = plan.queued;
  fit.odd_shapes = plan.odd_shapes;
  fit.note = plan.note;
  const auto terms = static_cast<std::ptrdiff_t>(trial.size() - plan.cards.size());
  fit.terms.assign(trial.begin(), trial.begin() + terms);
  for (size_t c = 0; c < plan.cards.size(); ++c) {
    fit.clocks.emplace_back(plan.cards[c].device, trial[static_cast<size_t>(terms) + c]);
  }
  return fit;
}

// Nothing was measured: the base's terms, with its range away from measured shapes.
FitReport derive(const FitPlan& plan, const Start& start, const Fit& base) {
  FitReport report;
  report.fit = blank_fit(plan, start.trial);
  report.fit.error = base.error;
  report.fit.median = base.median;
  report.fit.range90 = base.range90 + kDerivedRange;
  return report;
}

Result<std::vector<DeviceRates>> cards_of(const FitPlan& plan,
                                          const std::map<std::string, DeviceRates>& rates) {
  std::vector<DeviceRates> cards;
  for (const FitCard& card : plan.cards) {
    const auto found = rates.find(std::string(card.device));
    if (found == rates.end()) {
      return error("E510",
                   fmt::format("no rates for '{}', which plan '{}' needs", card.device, plan.name));
    }
    cards.push_back(found->second);
  }
  return cards;
}

}  // namespace

std::vector<const MeasuredKernel*> kernels_of(const FitPlan& plan,
                                              const std::vector<MeasuredKernel>& measured,
                                              const std::map<std::string, DeviceRates>& rates) {
  const FitClassRow& row = fit_class(plan.kernel_class);
  std::vector<const MeasuredKernel*> kernels;
  for (const MeasuredKernel& k : measured) {
    if (in_plan(plan, k) && row.takes(features_of(k, nullptr), rates.at(k.device)))
      kernels.push_back(&k);
  }
  return kernels;
}

Result<FitReport> fit_kernels(const FitPlan& plan, const std::vector<MeasuredKernel>& measured,
                              const std::map<std::string, DeviceRates>& rates,
                              const std::map<std::string_view, Fit>& fits) {
  const auto cards = TRY(cards_of(plan, rates));
  const auto find = [&](std::string_view plan_name) {
    const auto at = fits.find(plan_name);
    return at == fits.end() ? nullptr : &at->second;
  };
  const Fit* base = find(plan.base);
  if (!plan.base.empty() && base == nullptr) {
    return error("E510", fmt::format("plan '{}' needs a fit of '{}'", plan.name, plan.base));
  }
  const Start start = start_of(plan, base, find(plan.lender));
  if (plan.sources.empty() && base != nullptr) return derive(plan, start, *base);
  const std::vector<const MeasuredKernel*> kernels = kernels_of(plan, measured, rates);
  if (kernels.size() < 10) {
    return error("E510",
                 fmt::format("only {} measured kernels for plan '{}'", kernels.size(), plan.name));
  }
  const Formula formula(plan, cards, kernels);
  const std::vector<bool> none(formula.size(), false);
  Box box = start.box;
  const Trial trial = with_weights(plan, formula, solve_needed(formula, start, box, none), none);

  FitReport report;
  Fit& fit = report.fit;
  fit = blank_fit(plan, trial);
  fit.measured = static_cast<int64_t>(formula.size());
  score(report, formula, leave_out(plan, formula, start));
  count_algorithms(report, formula, trial);
  return report;
}

}  // namespace plimsoll
