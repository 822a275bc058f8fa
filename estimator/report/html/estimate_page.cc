#include "estimator/report/html/estimate_page.h"

#include <fmt/format.h>

#include "estimator/report/html/estimate_sections.h"
#include "estimator/report/html/page.h"
#include "estimator/report/json.h"
#include "estimator/report/text.h"
#include "graph/base/escape.h"

namespace plimsoll {

std::string estimate_page(const Estimate& e, const std::string& command) {
  Markup body;
  write_answer(body, e);
  write_memory_sections(body, e);
  write_time_sections(body, e);
  write_layer_section(body, e);
  write_notes_section(body, e);
  return to_html({.title = fmt::format("{} on {}: {}", shortened(e.input.model, 60), e.device_id,
                                       headline(e.memory.verdict)),
                  .body = body.take(),
                  .json = to_json(e, JsonWriter::Layout::kCompact),
                  .command = command});
}

}  // namespace plimsoll
