#include "estimator/plan/workspace_lines.h"

#include <fmt/format.h>

#include "estimator/library/workspace/conv_question.h"
#include "graph/json/writer.h"

namespace plimsoll {
namespace {

void write_plan(JsonWriter& out, const ConvPlan& plan) {
  out.key("algorithm").string(plan.algorithm);
  out.key("engine");
  plan.engine < 0 ? out.null() : out.integer(plan.engine);
  if (plan.tile >= 0) out.key("tile").integer(plan.tile);
  out.key("workspace_bytes").integer(plan.bytes);
}

}  // namespace

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
  out.begin_object();
  write_plan(out, choice->plan);
  out.key("range").begin_array().integer(choice->low).integer(choice->high).end_array();
  out.key("largest_bytes").integer(choice->largest);
  out.key("alternatives").objects(choice->alternatives, [&](const ConvPlan& plan) {
    write_plan(out, plan);
  });
  out.key("basis").string(name(choice->basis));
  out.end_object();
  return out.take();
}

}  // namespace plimsoll
