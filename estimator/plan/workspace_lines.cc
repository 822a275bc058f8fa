#include "estimator/plan/workspace_lines.h"

#include <fmt/format.h>

#include "estimator/library/workspace/conv_question.h"
#include "graph/json/json_fields.h"

namespace plimsoll {
Result<const WorkspaceTables*> WorkspaceLines::tables(DType dtype, bool channels_last) {
  const std::pair key{dtype, channels_last};
  auto at = tables_.find(key);
  if (at == tables_.end()) {
    auto loaded = WorkspaceTables::load(hwdb_, {.capability = options_.capability,
                                                .cudnn_major = options_.cudnn_major,
                                                .cudnn_minor = options_.cudnn_minor,
                                                .dtype = dtype,
                                                .channels_last = channels_last});
    if (!loaded) return tl::unexpected(loaded.error());
    at = tables_.emplace(key, std::move(*loaded)).first;
  }
  return &at->second;
}

Result<std::string> WorkspaceLines::answer(std::string_view text, int line_number) {
  const auto line = parse_conv_question(text, fmt::format("line {}", line_number), options_.dtype);
  if (!line) return tl::unexpected(line.error());
  const auto found = tables(line->dtype, line->problem.channels_last);
  if (!found) return tl::unexpected(found.error());
  const auto choice = (*found)->choose(line->problem, line->pass, options_.policy);
  if (!choice) return tl::unexpected(choice.error());
  JsonWriter out;
  JsonFields(out).visit(unchanged(*choice));
  return out.take();
}

}  // namespace plimsoll
