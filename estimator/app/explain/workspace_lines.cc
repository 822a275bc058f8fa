#include "estimator/app/explain/workspace_lines.h"

#include <fmt/format.h>

#include "estimator/library/workspace/conv_question.h"
#include "graph/base/try.h"
#include "graph/json/json_fields.h"

namespace plimsoll {
Result<const WorkspaceTables*> WorkspaceLines::tables(DType dtype, bool channels_last) {
  const std::pair key{dtype, channels_last};
  auto at = tables_.find(key);
  if (at == tables_.end()) {
    auto loaded = TRY(WorkspaceTables::load(hwdb_, {.capability = options_.capability,
                                                    .cudnn_major = options_.cudnn_major,
                                                    .cudnn_minor = options_.cudnn_minor,
                                                    .dtype = dtype,
                                                    .channels_last = channels_last}));
    at = tables_.emplace(key, std::move(loaded)).first;
  }
  return &at->second;
}

Result<std::string> WorkspaceLines::answer(std::string_view text, int line_number) {
  const auto line =
      TRY(parse_conv_question(text, fmt::format("line {}", line_number), options_.dtype));
  const auto found = TRY(tables(line.dtype, line.problem.channels_last));
  const auto choice = TRY(found->choose(line.problem, line.pass, options_.policy));
  JsonWriter out;
  JsonFields(out).visit(unchanged(choice));
  return out.take();
}

}  // namespace plimsoll
