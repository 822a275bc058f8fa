#include "estimator/app/html/estimate_page.h"

#include <fmt/format.h>

#include "estimator/app/html/estimate_sections.h"
#include "estimator/app/html/page.h"
#include "estimator/app/report/headline.h"
#include "estimator/app/report/json.h"
#include "estimator/app/report/spelling.h"
#include "graph/base/escape.h"

namespace plimsoll {
namespace {

constexpr size_t kMostBytes = 1'500'000;  // what mail and browsers take without a thought

std::string page_with(const Estimate& e, const Result<LargestBatch>& batches,
                      const std::string& command, JsonOptions::Lists lists) {
  Markup body;
  write_answer(body, e);
  write_remedies_section(body, e);
  write_memory_sections(body, e);
  if (batches) {
    write_batch_section(body, *batches);
  } else {
    const Diagnostic why = spelled(batches.error().front());
    open_section(body, "batch", "Batch size", "No other batch was estimated.");
    body.element("p", fmt::format("{}: {}.{}", why.code, why.message,
                                  why.help.empty() ? "" : " " + why.help + "."));
    body.close();
  }
  write_time_sections(body, e);
  write_layer_section(body, e, lists != JsonOptions::Lists::kNeither);
  open_section(body, "notes", "Notes", "");
  write_notes(body, e, e.recognised);
  body.close();
  return to_html({.title = fmt::format("{} on {}: {}", shortened(e.input.model, 60), e.device_id,
                                       headline(e.memory.verdict)),
                  .body = body.take(),
                  .json = to_json(e, {.layout = JsonWriter::Layout::kCompact,
                                      .batches = batches ? &*batches : nullptr,
                                      .lists = lists}),
                  .command = command});
}

}  // namespace

std::string estimate_page(const Estimate& e, const Result<LargestBatch>& batches,
                          const std::string& command) {
  std::string page;
  for (const auto lists :
       {JsonOptions::Lists::kAll, JsonOptions::Lists::kNotKept, JsonOptions::Lists::kNeither}) {
    page = page_with(e, batches, command, lists);
    if (page.size() < kMostBytes) break;
  }
  return page;
}

}  // namespace plimsoll
