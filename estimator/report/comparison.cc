#include "estimator/report/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/report/human.h"
#include "estimator/report/json.h"
#include "estimator/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

// Of an hour's price and samples in it.
std::optional<double> price_of_million(const Estimate& e, const std::optional<double>& price) {
  if (!price || e.time.samples_per_second <= 0) return std::nullopt;
  return *price / (3600 * e.time.samples_per_second) * 1e6;
}

std::string_view remark(Verdict verdict) {
  if (verdict == Verdict::kFits) return "";
  return verdict == Verdict::kMayFit ? "may fit" : "does not fit";
}

// "Smallest that fits: tesla-t4", by the least of a quantity over those that surely fit.
template <class Quantity>
std::string choice(const Comparison& comparison, std::string_view title, Quantity quantity) {
  const Estimate* best = nullptr;
  double least = 0;
  for (size_t i = 0; i < comparison.estimates.size(); ++i) {
    const Estimate& e = comparison.estimates[i];
    const std::optional<double> value = quantity(i);
    if (e.memory.verdict != Verdict::kFits || !value) continue;
    if (best && *value >= least) continue;
    best = &e;
    least = *value;
  }
  return best ? escaped_format("{}: {}", title, best->device_id) : "";
}

std::string choices(const Comparison& comparison, const Page& page) {
  const auto& estimates = comparison.estimates;
  std::string text;
  for (const std::string& one :
       {choice(comparison, "smallest that fits",
               [&](size_t i) {
                 return std::optional(static_cast<double>(estimates[i].usable_bytes));
               }),
        choice(comparison, "fastest",
               [&](size_t i) {
                 return std::optional(static_cast<double>(estimates[i].time.step_ns));
               }),
        choice(comparison, "cheapest",
               [&](size_t i) { return price_of_million(estimates[i], comparison.prices[i]); })}) {
    if (!one.empty()) text += (text.empty() ? "" : "; ") + one;
  }
  return wrapped(text.empty() ? "fits surely on none of them" : text, page);
}

}  // namespace

Table comparison_table(const Comparison& comparison) {
  Table table({{"gpu", {}, Column::kName},
               {"memory", "usable_bytes", Column::kFigure, 2},
               {"peak", "device_bytes"},
               {"of", "share_of_usable"},
               {"step", "step_ns"},
               {"per second", "samples_per_second"},
               {"relative", {}, Column::kFigure, 1},
               {"price of 1M", "price_of_a_million_samples", Column::kFigure, 1},
               {"", "verdict", Column::kRemark}});
  int64_t best = comparison.estimates.front().time.step_ns;
  for (const Estimate& e : comparison.estimates) best = std::min(best, e.time.step_ns);
  for (size_t i = 0; i < comparison.estimates.size(); ++i) {
    const Estimate& e = comparison.estimates[i];
    const auto price = price_of_million(e, comparison.prices[i]);
    const double relative = 1 / std::max(1e-9, share_of(best, e.time.step_ns));
    table.add({{e.device_id},
               bytes_cell(e.usable_bytes),
               bytes_cell(e.memory.device_bytes),
               share_cell(share_of(e.memory.device_bytes, e.usable_bytes)),
               time_cell(e.time.step_ns),
               number_cell(e.time.samples_per_second),
               {fmt::format("{:.2f}", relative)},
               price ? number_cell(*price) : TableCell{},
               {std::string(remark(e.memory.verdict)), std::string(name(e.memory.verdict))}},
              tone_of(e.memory.verdict));
  }
  return table;
}

std::string to_text(const Comparison& comparison, const Page& page, bool quiet) {
  const std::string chosen = choices(comparison, page);
  return quiet ? chosen : comparison_table(comparison).text(page) + "\n" + chosen;
}

std::string to_json(const Comparison& comparison) {
  std::string text = "[";
  for (const Estimate& e : comparison.estimates) text += (text.size() > 1 ? "," : "") + to_json(e);
  return text + "]\n";
}

}  // namespace plimsoll
