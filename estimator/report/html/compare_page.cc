#include "estimator/report/html/compare_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/answer/memory_part.h"
#include "estimator/plan/unbeaten.h"
#include "estimator/report/html/estimate_sections.h"
#include "estimator/report/html/page.h"
#include "estimator/report/human.h"
#include "estimator/report/json.h"
#include "estimator/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

std::vector<char> unbeaten_of(std::span<const Estimate> estimates) {
  std::vector<MemoryAndPace> answers;
  for (const Estimate& e : estimates)
    answers.push_back({e.memory.device_bytes, e.time.samples_per_second, e.fits});
  return unbeaten(answers);
}

void write_compare_answer(Markup& out, std::span<const Estimate> estimates) {
  const auto fit = std::ranges::count_if(estimates, &Estimate::fits);
  const InputFacts& input = estimates.front().input;
  out.open("header", {{"class", "answer"}});
  out.element("p", fmt::format("{}, batch {}", shortened(input.model, 80), input.batch));
  out.open("h1").element("span",
                         fit > 0 ? fmt::format("FITS ON {} OF {}", fit, estimates.size())
                                 : std::string("DOES NOT FIT"),
                         {{"class", fit > 0 ? "verdict fits" : "verdict does_not_fit"}});
  out.close().open("dl", {{"class", "facts"}});
  const Estimate *smallest = nullptr, *fastest = nullptr;
  for (const Estimate& e : estimates) {
    if (!e.fits) continue;
    if (!smallest || e.usable_bytes < smallest->usable_bytes) smallest = &e;
    if (!fastest || e.time.samples_per_second > fastest->time.samples_per_second) fastest = &e;
  }
  if (smallest)
    write_fact(out, "smallest that fits", smallest->device_name,
               fmt::format("{} of {}", human_bytes(smallest->memory.device_bytes),
                           human_bytes(smallest->usable_bytes)));
  if (fastest)
    write_fact(out, "fastest that fits", fastest->device_name,
               fmt::format("{} a step, {:.0f} {}/s", human_time(fastest->time.step_ns),
                           fastest->time.samples_per_second, fastest->time.sample_unit));
  out.close().close();
}

void write_devices(Markup& out, std::span<const Estimate> estimates) {
  const std::vector<char> best = unbeaten_of(estimates);
  HtmlTable table(out, "GPUs",
                  {{"gpu"},
                   {"verdict"},
                   {"usable", true},
                   {"peak", true},
                   {"low", true},
                   {"high", true},
                   {"step", true},
                   {"fastest step", true},
                   {"slowest step", true},
                   {"per second", true},
                   {"unbeaten"}},
                  {{"class", "sortable"}});
  for (size_t i = 0; i < estimates.size(); ++i) {
    const Estimate& e = estimates[i];
    table.row().cell(e.device_id).cell(headline(e.memory.verdict));
    table.bytes(e.usable_bytes).bytes(e.memory.device_bytes);
    table.bytes(e.memory.device_range.low).bytes(e.memory.device_range.high);
    table.time(e.time.step_ns).time(e.time.step_range_ns.low).time(e.time.step_range_ns.high);
    table.cell(fmt::format("{:.1f}", e.time.samples_per_second), e.time.samples_per_second);
    table.cell(best[i] != 0 ? "yes" : "");
  }
  table.end();
}

// A row for each GPU, a column for each part that any of them has.
void write_parts(Markup& out, std::span<const Estimate> estimates) {
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
    table.row().cell(e.device_id);
    const std::vector<MemoryPart> own = memory_parts(e);
    for (const std::string_view part : parts) {
      const auto at = std::ranges::find(own, part, &MemoryPart::id);
      table.bytes(at == own.end() ? 0 : at->bytes);
    }
  }
  table.end();
}

std::string listed_json(std::span<const Estimate> estimates) {
  const std::vector<char> best = unbeaten_of(estimates);
  std::string text = "[";
  for (size_t i = 0; i < estimates.size(); ++i) {
    text += (i > 0 ? "," : "") + to_json(estimates[i], {.layout = JsonWriter::Layout::kCompact,
                                                        .unbeaten = best[i] != 0,
                                                        .lists = JsonOptions::Lists::kNeither});
  }
  return text + "]\n";
}

}  // namespace

std::string compare_page(std::span<const Estimate> estimates, const std::string& command) {
  Markup body;
  write_compare_answer(body, estimates);
  open_section(body, "devices", "Memory against throughput",
               "The line joins what fits and no other beats in both; hollow: does not fit.");
  write_chart(body, "pareto");
  write_devices(body, estimates);
  body.close();
  open_section(body, "peak", "What fills the peak", "");
  write_chart(body, "compared_parts");
  write_parts(body, estimates);
  body.close();
  for (const Estimate& e : estimates) {
    body.open("details").element("summary", "Notes on " + e.device_name);
    write_notes(body, e);
    body.close();
  }
  return to_html(
      {.title = fmt::format("{} on {} GPUs", shortened(estimates.front().input.model, 60),
                            estimates.size()),
       .body = body.take(),
       .json = listed_json(estimates),
       .command = command});
}

}  // namespace plimsoll
