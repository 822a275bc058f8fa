#include <fmt/format.h>

#include <algorithm>

#include "estimator/app/html/estimate_sections.h"
#include "estimator/app/report/headline.h"
#include "graph/base/escape.h"

namespace plimsoll {

void write_batch_section(Markup& out, const LargestBatch& largest) {
  const MaxBatchAnswer& a = largest.answer;
  const bool of_batch = largest.vary == "batch";
  const std::string vary = shortened(largest.vary, 20);
  std::string about = a.safe <= 0 ? std::string("None fits safely")
                      : of_batch  ? fmt::format("Batches up to {} fit safely", a.safe)
                                  : fmt::format("{} up to {} fits safely", vary, a.safe);
  if (a.last_may_fit > a.safe)
    about += fmt::format("; {} to {} may fit", a.first_may_fit, a.last_may_fit);
  if (largest.as_fast > 0 && largest.as_fast < a.safe)
    about += fmt::format("; batch {} is as fast as any", largest.as_fast);
  open_section(out, "batch", of_batch ? "Batch size" : "Size: " + vary, about + ".");
  const auto has_parts = [](const RoundBatch& r) { return !r.parts.empty(); };
  if (std::ranges::any_of(largest.rounds, has_parts)) write_chart(out, "batch_parts");
  write_chart(out, "batch_memory");
  write_chart(out, "batch_pace");
  HtmlTable table(out, "Memory and throughput against the " + vary,
                  {{vary, true},
                   {"peak", true},
                   {"low", true},
                   {"high", true},
                   {"of usable", true},
                   {"step", true},
                   {"throughput", true},
                   {"verdict"}},
                  {{"class", "sortable"}});
  const auto usable = static_cast<double>(std::max<int64_t>(1, largest.usable_bytes));
  for (const RoundBatch& p : largest.rounds) {
    table.row().count(p.memory.batch).bytes(p.memory.device_bytes);
    table.bytes(p.memory.low).bytes(p.memory.high);
    table.percent(static_cast<double>(p.memory.device_bytes) / usable);
    table.time(p.step_ns).cell(fmt::format("{:.1f}", p.samples_per_second), p.samples_per_second);
    table.cell(headline(verdict_of({p.memory.low, p.memory.high}, largest.usable_bytes)));
  }
  table.end();
  out.close();
}

}  // namespace plimsoll
