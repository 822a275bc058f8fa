#include "estimator/app/html/compare_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/answer/memory_part.h"
#include "estimator/app/html/estimate_sections.h"
#include "estimator/app/html/page.h"
#include "estimator/app/report/headline.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/json.h"
#include "estimator/app/search/unbeaten.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

// By no other of the same model.
std::vector<char> unbeaten_of(const Comparison& comparison) {
  std::vector<char> all(comparison.estimates.size());
  for (const std::string& model : models_of(comparison)) {
    std::vector<size_t> indices;
    std::vector<MemoryAndPace> answers;
    for (size_t i = 0; i < all.size(); ++i) {
      const Estimate& e = comparison.estimates[i];
      if (e.input.model != model) continue;
      indices.push_back(i);
      answers.push_back({e.memory.device_bytes, e.time.samples_per_second, e.fits});
    }
    const std::vector<char> best = pareto_front(answers);
    for (size_t i = 0; i < indices.size(); ++i) all[indices[i]] = best[i];
  }
  return all;
}

std::string model_name(const std::string& model) {
  constexpr std::string_view kBuiltin = "builtin:";
  return shortened(model.starts_with(kBuiltin) ? model.substr(kBuiltin.size()) : model, 60);
}

// "resnet50 on tesla-t4" where models differ.
std::string row_name(const Comparison& comparison, const Estimate& e) {
  const bool several = models_of(comparison).size() > 1;
  return several ? fmt::format("{} on {}", model_name(e.input.model), e.device_id) : e.device_id;
}

void write_choices(Markup& out, const Comparison& comparison, const std::string& model) {
  const Choices choices = choices_of(comparison, model);
  const auto& estimates = comparison.estimates;
  if (choices.smallest) {
    const Estimate& e = estimates[*choices.smallest];
    write_fact(
        out, "smallest that fits", e.device_name,
        fmt::format("{} of {}", human_bytes(e.memory.device_bytes), human_bytes(e.usable_bytes)));
  }
  if (choices.fastest) {
    const Estimate& e = estimates[*choices.fastest];
    write_fact(out, "fastest that fits", e.device_name,
               fmt::format("{} a step, {:.0f} {}/s", human_time(e.time.step_ns),
                           e.time.samples_per_second, e.time.sample_unit));
  }
  if (choices.cheapest) {
    const Estimate& e = estimates[*choices.cheapest];
    write_fact(out, "cheapest that fits", e.device_name,
               fmt::format("{:.3g} for a million {}",
                           *price_of_million(comparison, *choices.cheapest), e.time.sample_unit));
  }
}

void write_compare_answer(Markup& out, const Comparison& comparison) {
  const auto& estimates = comparison.estimates;
  const auto fit = std::ranges::count_if(estimates, &Estimate::fits);
  out.open("header", {{"class", "answer"}});
  out.open("h1").element("span",
                         fit > 0 ? fmt::format("FITS ON {} OF {}", fit, estimates.size())
                                 : std::string("DOES NOT FIT"),
                         {{"class", fit > 0 ? "verdict fits" : "verdict does_not_fit"}});
  out.close();
  for (const std::string& model : models_of(comparison)) {
    const auto of =
        std::ranges::find(estimates, model, [](const Estimate& e) { return e.input.model; });
    out.element("p", fmt::format("{}, batch {}", shortened(model, 80), of->input.batch));
    out.open("dl", {{"class", "facts"}});
    write_choices(out, comparison, model);
    out.close();
  }
  out.close();
}

void write_devices(Markup& out, const Comparison& comparison) {
  const auto& estimates = comparison.estimates;
  const bool priced = std::ranges::any_of(comparison.prices, &std::optional<double>::has_value);
  const std::vector<char> best = unbeaten_of(comparison);
  std::vector<HtmlColumn> columns = {{"gpu"},
                                     {"verdict"},
                                     {"usable", true},
                                     {"peak", true},
                                     {"low", true},
                                     {"high", true},
                                     {"step", true},
                                     {"fastest step", true},
                                     {"slowest step", true},
                                     {"throughput", true},
                                     {"unbeaten"}};
  if (priced) columns.push_back({"price of a million", true});
  HtmlTable table(out, "GPUs", columns, {{"class", "sortable"}});
  for (size_t i = 0; i < estimates.size(); ++i) {
    const Estimate& e = estimates[i];
    table.row().cell(row_name(comparison, e)).cell(headline(e.memory.verdict));
    table.bytes(e.usable_bytes).bytes(e.memory.device_bytes);
    table.bytes(e.memory.device_range.low).bytes(e.memory.device_range.high);
    table.time(e.time.step_ns).time(e.time.step_range_ns.low).time(e.time.step_range_ns.high);
    table.cell(fmt::format("{:.1f}", e.time.samples_per_second), e.time.samples_per_second);
    table.cell(best[i] != 0 ? "yes" : "");
    if (!priced) continue;
    const auto price = price_of_million(comparison, i);
    price ? table.cell(fmt::format("{:.3g}", *price), *price) : table.cell("");
  }
  table.end();
}

// A row for each GPU, a column for each part that any of them has.
void write_parts(Markup& out, const Comparison& comparison) {
  const auto& estimates = comparison.estimates;
  std::vector<HtmlColumn> columns = {{"gpu"}};
  std::vector<std::string_view> parts;
  for (const Estimate& e : estimates) {
    for (const MemoryPart& p : memory_parts(e)) {
      if (std::ranges::find(parts, p.id) != parts.end()) continue;
      parts.push_back(p.id);
      columns.push_back({p.name, true});
    }
  }
  HtmlTable table(out, "Device memory at the peak, by part", columns, {{"class", "sortable"}});
  for (const Estimate& e : estimates) {
    table.row().cell(row_name(comparison, e));
    const std::vector<MemoryPart> own = memory_parts(e);
    for (const std::string_view part : parts) {
      const auto at = std::ranges::find(own, part, &MemoryPart::id);
      table.bytes(at == own.end() ? 0 : at->bytes);
    }
  }
  table.end();
}

std::string listed_json(const Comparison& comparison) {
  const auto& estimates = comparison.estimates;
  const std::vector<char> best = unbeaten_of(comparison);
  std::string text = "[";
  for (size_t i = 0; i < estimates.size(); ++i) {
    text += (i > 0 ? "," : "") +
            to_json(estimates[i], {.layout = JsonWriter::Layout::kCompact,
                                   .unbeaten = best[i] != 0,
                                   .price_of_million = price_of_million(comparison, i),
                                   .lists = JsonOptions::Lists::kNeither});
  }
  return text + "]\n";
}

}  // namespace

std::string compare_page(const Comparison& comparison, const std::string& command) {
  const auto& estimates = comparison.estimates;
  Markup body;
  write_compare_answer(body, comparison);
  open_section(body, "devices", "Memory against throughput",
               "The line joins the runs that fit and that no other run beats in both. Hollow: does "
               "not fit.");
  const auto& prices = comparison.prices;
  const bool priced = std::ranges::any_of(prices, &std::optional<double>::has_value);
  write_chart(body, "pareto");
  write_chart(body, "compared_steps");
  if (priced) write_chart(body, "compared_prices");
  write_devices(body, comparison);
  body.close();
  open_section(body, "peak", "What fills the peak", "");
  write_chart(body, "compared_parts");
  write_parts(body, comparison);
  body.close();
  for (const Estimate& e : estimates) {
    body.open("details").element("summary", "Notes on " + row_name(comparison, e));
    write_notes(body, e, e.recognised);
    body.close();
  }
  const size_t models = models_of(comparison).size();
  const std::string title =
      models == 1 ? fmt::format("{} on {} GPUs", shortened(estimates.front().input.model, 60),
                                estimates.size())
                  : fmt::format("{} models on {} GPUs", models, estimates.size() / models);
  return to_html(
      {.title = title, .body = body.take(), .json = listed_json(comparison), .command = command});
}

}  // namespace plimsoll
