#include "estimator/library/workspace/conv_question.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "graph/json/read_object.h"

namespace plimsoll {
namespace {

constexpr std::array<std::pair<const char*, Pass>, 3> kPasses = {
    {{"fprop", Pass::kForward}, {"dgrad", Pass::kBackwardData}, {"wgrad", Pass::kBackwardWeights}}};
constexpr std::array<std::pair<const char*, DType>, 4> kTypes = {{{"fp32", DType::kFloat32},
                                                                  {"fp16", DType::kFloat16},
                                                                  {"bf16", DType::kBFloat16},
                                                                  {"fp64", DType::kFloat64}}};

template <class Table>
std::vector<std::string> words(const Table& table) {
  std::vector<std::string> all;
  for (const auto& row : table) all.emplace_back(row.first);
  return all;
}

template <class Table>
auto meaning(const Table& table, std::string_view word) {
  for (const auto& row : table) {
    if (row.first == word) return row.second;
  }
  return table[0].second;  // a word that is none was a fault
}

template <class Table, class Value>
const char* word(const Table& table, Value value) {
  for (const auto& row : table) {
    if (row.second == value) return row.first;
  }
  return nullptr;
}

// The output's extent along an axis with symmetric padding; below 1 where the filter does not fit.
int64_t output_of(const ConvProblem<int64_t>& c, size_t axis) {
  const int64_t span = c.in[axis] + 2 * c.pad[axis] - c.dilation[axis] * (c.filter[axis] - 1) - 1;
  return span < 0 ? 0 : span / c.stride[axis] + 1;
}

}  // namespace

bool has_equal_padding(const ConvProblem<int64_t>& problem) {
  return problem.out[1] == output_of(problem, 1) && problem.out[2] == output_of(problem, 2);
}

std::optional<ConvQuestion> conv_question(const KernelAt& kernel) {
  const auto* problem = std::get_if<ConvProblem<int64_t>>(&kernel.problem);
  if (!problem || !word(kPasses, kernel.pass) || !word(kTypes, kernel.dtype)) return std::nullopt;
  if (problem->in[0] != 1 || problem->filter[0] != 1 || problem->out[0] != 1) return std::nullopt;
  if (!has_equal_padding(*problem)) return std::nullopt;
  return ConvQuestion{*problem, kernel.pass, kernel.dtype};
}

ConvQuestion read_conv_question(JsonObject& object, DType usual) {
  const IntegerRange size{.low = 1, .high = (int64_t{1} << 31) - 1};
  const IntegerRange padding{.low = 0, .high = size.high};
  const auto number = [&](std::string_view key, int64_t otherwise, IntegerRange range) {
    return object.optional_integer(key, range).value_or(otherwise);
  };
  ConvQuestion question;
  question.pass = meaning(kPasses, object.required_choice("pass", words(kPasses)));
  ConvProblem<int64_t>& c = question.problem;
  c.n = object.required_integer("n", size);
  c.c = object.required_integer("c", size);
  c.in = {1, object.required_integer("h", size), object.required_integer("w", size)};
  c.k = object.required_integer("k", size);
  c.filter = {1, object.required_integer("r", size), object.required_integer("s", size)};
  c.pad = {0, number("pad_h", 0, padding), number("pad_w", 0, padding)};
  c.stride = {1, number("stride_h", 1, size), number("stride_w", 1, size)};
  c.dilation = {1, number("dil_h", 1, size), number("dil_w", 1, size)};
  c.groups = number("groups", 1, size);
  const auto dtype = object.optional_choice("dtype", words(kTypes));
  question.dtype = dtype ? meaning(kTypes, *dtype) : usual;
  c.channels_last = object.optional_choice("layout", {"nchw", "nhwc"}).value_or("nchw") == "nhwc";
  if (has_error(object.faults())) return question;
  for (const size_t axis : {size_t{1}, size_t{2}}) {
    c.out[axis] = output_of(c, axis);
    if (c.out[axis] < 1) {
      object.fail("E241", "the filter is larger than the padded input");
      return question;
    }
  }
  return question;
}

Result<ConvQuestion> parse_conv_question(std::string_view line, std::string_view place,
                                         DType usual) {
  return read_object(line, place,
                     [&](JsonObject& object) { return read_conv_question(object, usual); });
}

void write_conv_question(JsonWriter& out, const ConvQuestion& question) {
  const ConvProblem<int64_t>& c = question.problem;
  out.key("pass").string(word(kPasses, question.pass));
  const std::pair<const char*, int64_t> numbers[] = {{"n", c.n},
                                                     {"c", c.c},
                                                     {"h", c.in[1]},
                                                     {"w", c.in[2]},
                                                     {"k", c.k},
                                                     {"r", c.filter[1]},
                                                     {"s", c.filter[2]},
                                                     {"pad_h", c.pad[1]},
                                                     {"pad_w", c.pad[2]},
                                                     {"stride_h", c.stride[1]},
                                                     {"stride_w", c.stride[2]},
                                                     {"dil_h", c.dilation[1]},
                                                     {"dil_w", c.dilation[2]},
                                                     {"groups", c.groups}};
  for (const auto& [key, value] : numbers) out.key(key).integer(value);
  out.key("dtype").string(word(kTypes, question.dtype));
  out.key("layout").string(c.channels_last ? "nhwc" : "nchw");
}

std::string text_of(const ConvQuestion& question) {
  const ConvProblem<int64_t>& c = question.problem;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                     word(kPasses, question.pass), c.n, c.c, c.in[1], c.in[2], c.k, c.filter[1],
                     c.filter[2], c.pad[1], c.pad[2], c.stride[1], c.stride[2], c.dilation[1],
                     c.dilation[2], c.groups, word(kTypes, question.dtype),
                     c.channels_last ? "nhwc" : "nchw");
}

}  // namespace plimsoll
