#include "estimator/plan/workspace_lines.h"

#include "graph/config/json_object.h"
#include "graph/config/json_reader.h"
#include "graph/config/json_writer.h"

namespace plimsoll {
namespace {

struct Line {
  ConvProblem<int64_t> problem;
  Pass pass = Pass::kForward;
  DType dtype = DType::kFloat32;
};

Result<Line> read_line(std::string_view text, int line_number, DType usual) {
  const std::string place = "line " + std::to_string(line_number);
  const auto value = read_json(text, place);
  if (!value) return tl::unexpected(value.error());
  Diagnostics faults;
  JsonObject object(*value, place, faults, true);
  const IntegerRange size{.low = 1, .high = (int64_t{1} << 31) - 1};
  const IntegerRange padding{.low = 0, .high = size.high};
  const auto number = [&](std::string_view key, int64_t otherwise, IntegerRange range) {
    return object.optional_integer(key, range).value_or(otherwise);
  };
  Line line;
  const auto pass = object.required_choice("pass", {"fprop", "dgrad", "wgrad"});
  line.pass = pass == "fprop"   ? Pass::kForward
              : pass == "dgrad" ? Pass::kBackwardData
                                : Pass::kBackwardWeights;
  ConvProblem<int64_t>& c = line.problem;
  c.n = object.required_integer("n", size);
  c.c = object.required_integer("c", size);
  c.in = {1, object.required_integer("h", size), object.required_integer("w", size)};
  c.k = object.required_integer("k", size);
  c.filter = {1, object.required_integer("r", size), object.required_integer("s", size)};
  c.pad = {0, number("pad_h", 0, padding), number("pad_w", 0, padding)};
  c.stride = {1, number("stride_h", 1, size), number("stride_w", 1, size)};
  c.dilation = {1, number("dil_h", 1, size), number("dil_w", 1, size)};
  c.groups = number("groups", 1, size);
  const auto dtype = object.optional_choice("dtype", {"fp32", "fp16", "bf16", "fp64"});
  line.dtype = !dtype            ? usual
               : dtype == "fp32" ? DType::kFloat32
               : dtype == "fp16" ? DType::kFloat16
               : dtype == "bf16" ? DType::kBFloat16
                                 : DType::kFloat64;
  c.channels_last = object.optional_choice("layout", {"nchw", "nhwc"}).value_or("nchw") == "nhwc";
  object.finish();
  if (has_error(faults)) return tl::unexpected(faults);
  for (size_t i = 1; i < 3; ++i) {
    const int64_t span = c.in[i] + 2 * c.pad[i] - c.dilation[i] * (c.filter[i] - 1) - 1;
    if (span < 0) {
      return error("E241", place + ": the filter is larger than the padded input");
    }
    c.out[i] = span / c.stride[i] + 1;
  }
  return line;
}

void write_plan(JsonWriter& out, const ConvPlan& plan) {
  out.key("algorithm").string(plan.algorithm);
  out.key("engine");
  plan.engine < 0 ? out.null() : out.integer(plan.engine);
  if (plan.tile >= 0) out.key("tile").integer(plan.tile);
  out.key("workspace_bytes").integer(plan.bytes);
}

}  // namespace

Result<const WorkspaceBook*> WorkspaceLines::book(DType dtype, bool channels_last) {
  const std::pair key{dtype, channels_last};
  auto at = books_.find(key);
  if (at == books_.end()) {
    auto loaded = WorkspaceBook::load(hwdb_, {.capability = options_.capability,
                                              .cudnn_major = options_.cudnn_major,
                                              .cudnn_minor = options_.cudnn_minor,
                                              .dtype = dtype,
                                              .channels_last = channels_last});
    if (!loaded) return tl::unexpected(loaded.error());
    at = books_.emplace(key, std::move(*loaded)).first;
  }
  return &at->second;
}

Result<std::string> WorkspaceLines::answer(std::string_view text, int line_number) {
  const auto line = read_line(text, line_number, options_.dtype);
  if (!line) return tl::unexpected(line.error());
  const auto found = book(line->dtype, line->problem.channels_last);
  if (!found) return tl::unexpected(found.error());
  const auto choice = (*found)->choose(line->problem, line->pass, options_.policy);
  if (!choice) return tl::unexpected(choice.error());
  JsonWriter out;
  out.begin_object();
  write_plan(out, choice->plan);
  out.key("range").begin_array().integer(choice->low).integer(choice->high).end_array();
  out.key("largest_bytes").integer(choice->largest);
  out.key("alternatives").begin_array();
  for (const ConvPlan& plan : choice->alternatives) {
    out.begin_object();
    write_plan(out, plan);
    out.end_object();
  }
  out.end_array();
  out.key("basis").string(name(choice->basis));
  out.end_object();
  return out.take();
}

}  // namespace plimsoll
