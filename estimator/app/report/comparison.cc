#include "estimator/app/report/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/report/answer_notes.h"
#include "estimator/app/report/headline.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/json.h"
#include "estimator/app/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

std::string_view remark(Verdict verdict) {
  if (verdict == Verdict::kFits) return "";
  return verdict == Verdict::kMayFit ? "may fit" : "does not fit";
}

// "smallest that fits: tesla-t4; fastest: l4"
std::string choices_text(const Comparison& comparison, const Choices& choices) {
  std::string text;
  const auto add = [&](std::string_view title, const std::optional<size_t>& chosen) {
    if (!chosen) return;
    text += escaped_format("{}{}: {}", text.empty() ? "" : "; ", title,
                           comparison.estimates[*chosen].device_id);
  };
  add("smallest that fits", choices.smallest);
  add("fastest", choices.fastest);
  add("cheapest", choices.cheapest);
  return text.empty() ? "no GPU is certain to fit it" : text;
}

std::string all_choices(const Comparison& comparison, const Page& page) {
  const std::vector<std::string> models = models_of(comparison);
  std::string text;
  for (const std::string& model : models) {
    const std::string chosen = choices_text(comparison, choices_of(comparison, model));
    text += wrapped(models.size() == 1 ? chosen : escaped_format("{}: ", model) + chosen, page);
  }
  return text;
}

// Over the fastest step of the same model.
double relative_step(const Comparison& comparison, const Estimate& e) {
  int64_t best = e.time.step_ns;
  for (const Estimate& other : comparison.estimates) {
    if (other.input.model == e.input.model) best = std::min(best, other.time.step_ns);
  }
  return 1 / std::max(1e-9, share_of(best, e.time.step_ns));
}

// What is assumed of all of them.
AnswerNotes common_notes(const Comparison& comparison) {
  AnswerNotes notes{.request = {}};
  if (!comparison.estimates.empty()) notes.assumed = comparison.estimates.front().assumed;
  for (const Estimate& e : comparison.estimates) {
    std::erase_if(notes.assumed, [&](const Assumption& a) {
      return std::ranges::find(e.assumed, a.text, &Assumption::text) == e.assumed.end();
    });
  }
  return notes;
}

// "images/s", where all have samples of one kind.
std::string rate_title(const Comparison& comparison) {
  const auto unit = [](const Estimate& e) { return e.time.sample_unit; };
  const bool one = !comparison.estimates.empty() &&
                   std::ranges::all_of(comparison.estimates, [&](const Estimate& e) {
                     return unit(e) == unit(comparison.estimates.front());
                   });
  return one ? unit(comparison.estimates.front()) + "/s" : "throughput";
}

}  // namespace

std::vector<std::string> models_of(const Comparison& comparison) {
  std::vector<std::string> models;
  for (const Estimate& e : comparison.estimates) {
    if (std::ranges::find(models, e.input.model) == models.end()) models.push_back(e.input.model);
  }
  return models;
}

std::optional<double> price_of_million(const Comparison& comparison, size_t i) {
  const double pace = comparison.estimates[i].time.samples_per_second;
  const std::optional<double>& price = comparison.prices[i];
  if (!price || pace <= 0) return std::nullopt;
  return price_of_million(*price, pace);
}

Choices choices_of(const Comparison& comparison, std::string_view model) {
  Choices choices;
  // The least of a quantity over those that surely fit.
  const auto least = [&](auto quantity) {
    std::optional<size_t> best;
    double lowest = 0;
    for (size_t i = 0; i < comparison.estimates.size(); ++i) {
      const Estimate& e = comparison.estimates[i];
      const std::optional<double> value = quantity(i);
      if (e.input.model != model || e.memory.verdict != Verdict::kFits || !value) continue;
      if (best && *value >= lowest) continue;
      best = i;
      lowest = *value;
    }
    return best;
  };
  const auto& estimates = comparison.estimates;
  choices.smallest = least(
      [&](size_t i) { return std::optional(static_cast<double>(estimates[i].usable_bytes)); });
  choices.fastest = least(
      [&](size_t i) { return std::optional(static_cast<double>(estimates[i].time.step_ns)); });
  const bool all_priced = std::ranges::all_of(comparison.prices, &std::optional<double>::has_value);
  if (all_priced)
    choices.cheapest = least([&](size_t i) { return price_of_million(comparison, i); });
  return choices;
}

Table comparison_table(const Comparison& comparison) {
  Table table({{"model", {}, Column::kName, 1},
               {"gpu", {}, Column::kName},
               {"memory", "usable_bytes", Column::kFigure, 3},
               {"peak", "device_bytes"},
               {"of GPU", "share_of_usable"},
               {"step", "step_ns"},
               {rate_title(comparison), "samples_per_second"},
               {"vs fastest", {}, Column::kFigure, 2},
               {"price per 1M", "price_of_a_million_samples", Column::kFigure, 2},
               {"", "verdict", Column::kRemark}});
  const bool several = models_of(comparison).size() > 1;
  for (size_t i = 0; i < comparison.estimates.size(); ++i) {
    const Estimate& e = comparison.estimates[i];
    const auto price = price_of_million(comparison, i);
    table.add({{several ? e.input.model : ""},
               {e.device_id},
               bytes_cell(e.usable_bytes),
               bytes_cell(e.memory.device_bytes),
               share_cell(share_of(e.memory.device_bytes, e.usable_bytes)),
               time_cell(e.time.step_ns),
               number_cell(e.time.samples_per_second),
               {fmt::format("{:.2f}", relative_step(comparison, e))},
               price ? number_cell(*price) : TableCell{},
               {std::string(remark(e.memory.verdict)), std::string(name(e.memory.verdict))}},
              tone_of(e.memory.verdict));
  }
  return table;
}

std::string to_text(const Comparison& comparison, const Page& page, bool quiet) {
  const std::string chosen = all_choices(comparison, page);
  if (quiet) return chosen;
  return comparison_table(comparison).text(page) + "\n" + chosen +
         assumed_paragraph(common_notes(comparison), page);
}

std::string to_json(const Comparison& comparison) {
  std::string text = "[";
  for (const Estimate& e : comparison.estimates) text += (text.size() > 1 ? "," : "") + to_json(e);
  return text + "]\n";
}

}  // namespace plimsoll
