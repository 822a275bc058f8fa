#include "estimator/app/html/max_batch_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/html/estimate_sections.h"
#include "estimator/app/html/page.h"
#include "estimator/app/report/headline.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/largest_batch.h"
#include "estimator/app/report/spelling.h"
#include "estimator/app/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

void write_advice(Markup& out, const LargestBatch& largest) {
  if (largest.advice.empty()) return;
  open_section(out, "remedies", "What would help",
               "Combinations of changes. Peak and step are those of the smallest batch with them.");
  HtmlTable table(
      out, "Changes",
      {{"options"}, {"largest batch", true}, {"verdict"}, {"peak", true}, {"step", true}},
      {{"class", "sortable"}});
  for (const BatchRemedy& r : largest.advice) {
    table.row().cell(spelled(r.remedy.settings)).count(r.safe);
    table.cell(headline(r.remedy.verdict));
    table.bytes(r.remedy.device_bytes).time(r.remedy.step_ns);
  }
  table.end();
  out.close();
}

}  // namespace

std::string max_batch_page(const LargestBatch& largest, const std::string& model,
                           const std::string& command) {
  const MaxBatchAnswer& a = largest.answer;
  const Verdict verdict = a.safe > 0                ? Verdict::kFits
                          : a.last_may_fit > a.safe ? Verdict::kMayFit
                                                    : Verdict::kDoesNotFit;
  const bool of_batch = largest.vary == "batch";
  const std::string what = of_batch ? "" : shortened(largest.vary, 20) + " ";
  const std::string answer =
      a.safe > 0 ? fmt::format("SAFE {}{}", what, a.safe) : "NOTHING FITS SAFELY";
  const std::string about =
      fmt::format("{}{} on {}", shortened(model, 80),
                  of_batch ? "" : fmt::format(", batch {},", largest.batch), largest.device_id);
  Markup body;
  body.open("header", {{"class", "answer"}})
      .element("p", fmt::format("Largest {} of {}", shortened(largest.vary, 20), about));
  body.open("h1")
      .element("span", answer, {{"class", fmt::format("verdict {}", name(verdict))}})
      .close();
  body.open("dl", {{"class", "facts"}});
  if (a.last_may_fit > a.safe)
    write_fact(body, "may fit", fmt::format("{} to {}", a.first_may_fit, a.last_may_fit),
               a.last_may_fit < a.searched_to ? "larger ones do not" : "as far as was searched");
  write_fact(body, "usable memory", human_bytes(largest.usable_bytes), "less what is kept free");
  const auto as_fast = std::ranges::find(largest.rounds, largest.as_fast,
                                         [](const RoundBatch& r) { return r.memory.batch; });
  if (as_fast != largest.rounds.end())
    write_fact(body, "as fast as any", fmt::format("batch {}", largest.as_fast),
               fmt::format("{} {}/s, {} a step", human_number(as_fast->samples_per_second),
                           largest.sample_unit, human_time(as_fast->step_ns)));
  body.close().close();
  write_advice(body, largest);
  write_batch_section(body, largest);
  open_section(body, "notes", "Notes", "");
  write_notes(body, largest.notes);
  body.close();
  return to_html({.title = fmt::format("{}: {}", about, answer),
                  .body = body.take(),
                  .json = to_json(largest),
                  .command = command});
}

}  // namespace plimsoll
