#include "estimator/library/workspace/conv_question.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "graph/json/json_fields.h"
#include "graph/json/read_fields.h"

namespace plimsoll {
namespace {

constexpr std::array<std::pair<const char*, Pass>, 3> kPasses = {
    {{"fprop", Pass::kForward}, {"dgrad", Pass::kBackwardData}, {"wgrad", Pass::kBackwardWeights}}};
constexpr std::array<std::pair<const char*, DType>, 4> kTypes = {{{"fp32", DType::kFloat32},
                                                                  {"fp16", DType::kFloat16},
                                                                  {"bf16", DType::kBFloat16},
                                                                  {"fp64", DType::kFloat64}}};
constexpr std::array<std::pair<const char*, bool>, 2> kLayouts = {
    {{"nchw", false}, {"nhwc", true}}};

template <class Table, class Value>
const char* word(const Table& table, Value value) {
  for (const auto& row : table) {
    if (row.second == value) return row.first;
  }
  return nullptr;
}

// A member by the words that cuDNN's users have for it.
template <class Value, size_t N>
void describe_word(Fields& f, std::string_view key, Value& member,
                   const std::array<std::pair<const char*, Value>, N>& table, FieldNote note) {
  std::array<std::string_view, N> words;
  for (size_t i = 0; i < N; ++i) words[i] = table[i].first;
  note.words = words;
  const char* const now = word(table, member);
  std::string text = now ? now : "";
  f(key, text, note);
  for (const auto& [each, value] : table) {
    if (text == each && value != member) member = value;
  }
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

void describe(Fields& f, ConvQuestion& question) {
  constexpr double kMost = (int64_t{1} << 31) - 1;
  const auto size = [&](std::string_view key, int64_t& member) {
    f(key, member, {.low = 1, .high = kMost});
  };
  const auto optional = [&](std::string_view key, int64_t& member, double low) {
    f(key, member, {.absent_where = false, .low = low, .high = kMost});
  };
  ConvProblem<int64_t>& c = question.problem;
  describe_word(f, "pass", question.pass, kPasses, {});
  size("n", c.n);
  size("c", c.c);
  size("h", c.in[1]);
  size("w", c.in[2]);
  size("k", c.k);
  size("r", c.filter[1]);
  size("s", c.filter[2]);
  optional("pad_h", c.pad[1], 0);
  optional("pad_w", c.pad[2], 0);
  optional("stride_h", c.stride[1], 1);
  optional("stride_w", c.stride[2], 1);
  optional("dil_h", c.dilation[1], 1);
  optional("dil_w", c.dilation[2], 1);
  optional("groups", c.groups, 1);
  describe_word(f, "dtype", question.dtype, kTypes, {.absent_where = false});
  describe_word(f, "layout", c.channels_last, kLayouts, {.absent_where = false});
}

ConvQuestion read_conv_question(JsonObject& object, DType usual) {
  ConvQuestion question{.problem = {}, .pass = Pass::kForward, .dtype = usual};
  ConvProblem<int64_t>& c = question.problem;
  c.in = c.filter = c.stride = c.dilation = {1, 1, 1};
  c.pad = {0, 0, 0};
  c.groups = 1;
  ReadFields(object).read(question);
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
  JsonFields fields(out);
  describe(fields, unchanged(question));
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
