#include "estimator/app/report/advice.h"

#include <fmt/format.h>

#include "estimator/app/report/answer_notes.h"
#include "estimator/app/report/headline.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/spelling.h"

namespace plimsoll {

TableCell verdict_cell(Verdict verdict) {
  const char* const word = verdict == Verdict::kFits     ? "fits"
                           : verdict == Verdict::kMayFit ? "may fit"
                                                         : "too much";
  return {word, std::string(name(verdict))};
}

Table remedy_table(std::span<const Remedy> remedies) {
  Table table({{"what would help", "flags", Column::kFlags},
               {"peak", "device_bytes"},
               {"step", "step_ns"},
               {"throughput", "samples_per_second", Column::kFigure, 2},
               {"", "verdict", Column::kRemark},
               {"", "effect", Column::kRemark, 1}});
  for (const Remedy& r : remedies) {
    table.add({{spelled(r.settings)},
               bytes_cell(r.device_bytes),
               time_cell(r.step_ns),
               number_cell(r.samples_per_second),
               verdict_cell(r.verdict),
               {r.effect}},
              tone_of(r.verdict));
  }
  return table;
}

std::string to_text(const Advice& advice, const Page& page, bool quiet, bool basis) {
  const Remedy& today = advice.today;
  const std::string_view word = headline(today.verdict);
  std::string text = fmt::format(
      "{}   peak {} of {}, step {}\n", toned(word, tone_of(today.verdict), page),
      human_bytes(today.device_bytes), human_bytes(advice.usable_bytes), human_time(today.step_ns));
  if (quiet) return text;
  text += advice.stacks.empty()
              ? "\n" + wrapped(
                           "Nothing that was tried helps: precision, checkpointing, optimizer, "
                           "adapters, gradient accumulation.",
                           page)
              : "\n" + remedy_table(advice.stacks).text(page, 2);
  text += assumed_paragraph(advice.notes, page);
  return basis ? text + basis_text(advice.notes, page) : text;
}

std::string to_json(const Advice& advice) { return answer_text("plimsoll.advise", advice); }

}  // namespace plimsoll
