#include "graph/ops/rules.h"
#include "graph/base/among.h"
#include "graph/base/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/ops/static_batch.h"

namespace plimsoll::ops {
namespace {

enum class Kind : uint8_t { kInteger, kReal, kString, kIntegers, kReals, kStrings };
struct NamedKind {
  std::string_view name;
  Kind kind;
};

// ONNX gives an attribute's name one type in all operators that have it (with the exceptions left
// out here: `value`, `scale`, `border`, `shape`, `pads` of pooling are safe, `coordinates` is not).
constexpr std::array kKinds = {
    NamedKind{"align_corners", Kind::kInteger},
    NamedKind{"alpha", Kind::kReal},
    NamedKind{"auto_pad", Kind::kString},
    NamedKind{"axes", Kind::kIntegers},
    NamedKind{"axis", Kind::kInteger},
    NamedKind{"batch_axis", Kind::kInteger},
    NamedKind{"batch_dims", Kind::kInteger},
    NamedKind{"beta", Kind::kReal},
    NamedKind{"bias", Kind::kReal},
    NamedKind{"block_shape", Kind::kIntegers},
    NamedKind{"blocksize", Kind::kInteger},
    NamedKind{"ceil_mode", Kind::kInteger},
    NamedKind{"count_include_pad", Kind::kInteger},
    NamedKind{"depth", Kind::kInteger},
    NamedKind{"detect_negative", Kind::kInteger},
    NamedKind{"dilations", Kind::kIntegers},
    NamedKind{"direction", Kind::kString},
    NamedKind{"dtype", Kind::kInteger},
    NamedKind{"end", Kind::kInteger},
    NamedKind{"ends", Kind::kIntegers},
    NamedKind{"epsilon", Kind::kReal},
    NamedKind{"equation", Kind::kString},
    NamedKind{"exclusive", Kind::kInteger},
    NamedKind{"group", Kind::kInteger},
    NamedKind{"hidden_size", Kind::kInteger},
    NamedKind{"is_causal", Kind::kInteger},
    NamedKind{"k", Kind::kInteger},
    NamedKind{"keepdims", Kind::kInteger},
    NamedKind{"kernel_shape", Kind::kIntegers},
    NamedKind{"kv_num_heads", Kind::kInteger},
    NamedKind{"largest", Kind::kInteger},
    NamedKind{"layout", Kind::kInteger},
    NamedKind{"mode", Kind::kString},
    NamedKind{"momentum", Kind::kReal},
    NamedKind{"noop_with_empty_axes", Kind::kInteger},
    NamedKind{"num_groups", Kind::kInteger},
    NamedKind{"num_heads", Kind::kInteger},
    NamedKind{"num_outputs", Kind::kInteger},
    NamedKind{"offset_group", Kind::kInteger},
    NamedKind{"output_datatype", Kind::kInteger},
    NamedKind{"output_dtype", Kind::kInteger},
    NamedKind{"output_height", Kind::kInteger},
    NamedKind{"output_padding", Kind::kIntegers},
    NamedKind{"output_shape", Kind::kIntegers},
    NamedKind{"output_width", Kind::kInteger},
    NamedKind{"pads", Kind::kIntegers},
    NamedKind{"perm", Kind::kIntegers},
    NamedKind{"pooled_shape", Kind::kIntegers},
    NamedKind{"q_num_heads", Kind::kInteger},
    NamedKind{"qk_matmul_output_mode", Kind::kInteger},
    NamedKind{"ratio", Kind::kReal},
    NamedKind{"reduction", Kind::kString},
    NamedKind{"sample_size", Kind::kInteger},
    NamedKind{"scales", Kind::kReals},
    NamedKind{"select_last_index", Kind::kInteger},
    NamedKind{"size", Kind::kInteger},
    NamedKind{"spatial_scale", Kind::kReal},
    NamedKind{"split", Kind::kIntegers},
    NamedKind{"start", Kind::kInteger},
    NamedKind{"starts", Kind::kIntegers},
    NamedKind{"stash_type", Kind::kInteger},
    NamedKind{"storage_order", Kind::kInteger},
    NamedKind{"strides", Kind::kIntegers},
    NamedKind{"time_axis", Kind::kInteger},
    NamedKind{"to", Kind::kInteger},
    NamedKind{"training_mode", Kind::kInteger},
    NamedKind{"transA", Kind::kInteger},
    NamedKind{"transB", Kind::kInteger},
    NamedKind{"upper", Kind::kInteger},
};
constexpr bool by_name(const NamedKind& a, const NamedKind& b) { return a.name < b.name; }
static_assert(std::is_sorted(kKinds.begin(), kKinds.end(), by_name));

constexpr std::array<std::string_view, 6> kKindText = {"a whole number",  "a real number",
                                                       "a string",        "a list of whole numbers",
                                                       "a list of reals", "a list of strings"};

size_t list_length(const AttributeValue& value) {
  if (const auto* i = std::get_if<std::vector<int64_t>>(&value)) return i->size();
  if (const auto* r = std::get_if<std::vector<double>>(&value)) return r->size();
  return 0;
}

}  // namespace

Result<void> check_attribute_types(InferContext& c) {
  for (const auto& [name, value] : c.attributes().entries()) {
    const auto at =
        std::lower_bound(kKinds.begin(), kKinds.end(), NamedKind{name, Kind::kInteger}, by_name);
    if (at == kKinds.end() || at->name != name) continue;
    // An empty list does not say of what.
    const bool empty_list = value.index() >= 3 && list_length(value) == 0 &&
                            !std::holds_alternative<std::vector<std::string>>(value);
    const bool list_wanted = at->kind == Kind::kIntegers || at->kind == Kind::kReals;
    if (empty_list && list_wanted) continue;
    if (value.index() != static_cast<size_t>(at->kind)) {
      return c.fail(
          "E247", fmt::format("attribute '{}' must be {}, found {}", name,
                              kKindText[static_cast<size_t>(at->kind)], kKindText[value.index()]));
    }
    if (list_length(value) > 2 * kAnyRank) {
      return c.fail("E247", fmt::format("attribute '{}' has {} entries", name, list_length(value)));
    }
  }
  return {};
}

bool works_on_sequences(std::string_view op) {
  constexpr std::array<std::string_view, 24> kOps = {"CastMap",
                                                     "ConcatFromSequence",
                                                     "DictVectorizer",
                                                     "ImageDecoder",
                                                     "Optional",
                                                     "OptionalGetElement",
                                                     "OptionalHasElement",
                                                     "RegexFullMatch",
                                                     "SequenceAt",
                                                     "SequenceConstruct",
                                                     "SequenceEmpty",
                                                     "SequenceErase",
                                                     "SequenceInsert",
                                                     "SequenceLength",
                                                     "SequenceMap",
                                                     "SplitToSequence",
                                                     "StringConcat",
                                                     "StringNormalizer",
                                                     "StringSplit",
                                                     "TfIdfVectorizer",
                                                     "Tokenizer",
                                                     "ZipMap",
                                                     "CategoryMapper",
                                                     "FeatureVectorizer"};
  return among(op, kOps);
}

Result<void> require_rank(InferContext& c, size_t input, size_t least, size_t most) {
  const size_t rank = c.rank(input);
  if (rank >= least && rank <= most) return {};
  std::string wanted = least == most      ? fmt::format("{}", least)
                       : most == kAnyRank ? fmt::format("at least {}", least)
                                          : fmt::format("{} to {}", least, most);
  return c.fail("E253", fmt::format("input {} {} has rank {}, expected {}", input,
                                    text(c.shape(input)), rank, wanted));
}

Result<void> require_equal(InferContext& c, const Dim& a, const Dim& b, std::string_view what) {
  if (was_batch(c, a, b) || was_batch(c, b, a) || c.decider().equal(a, b)) return {};
  return c.fail("E246", fmt::format("{}: {} against {}", what, a.text(), b.text()));
}

Result<std::vector<size_t>> normalized_axes(InferContext& c, std::span<const int64_t> axes,
                                            size_t rank) {
  std::vector<size_t> plain;
  for (const int64_t axis : axes) {
    const auto at = TRY(c.axis(axis, rank));
    if (std::find(plain.begin(), plain.end(), at) != plain.end()) {
      return c.fail("E248", fmt::format("axis {} is named twice", axis));
    }
    plain.push_back(at);
  }
  return plain;
}

Result<std::optional<std::vector<int64_t>>> axes_argument(InferContext& c, size_t input) {
  if (c.has(input)) {
    auto axes = c.integers(input);
    if (!axes) return unknown_contents(c, input, "the axes");
    return axes;
  }
  if (!c.attributes().has("axes")) return std::nullopt;
  return c.attributes().integers("axes");
}

Result<DType> dtype_attribute(InferContext& c, std::string_view name, DType otherwise) {
  if (!c.attributes().has(name)) return otherwise;
  const int64_t number = c.attributes().integer(name, 0);
  const auto dtype = dtype_from_onnx(number);
  if (dtype) return *dtype;
  return c.fail("E247", fmt::format("attribute '{}' is {}, which is no data type", name, number));
}

std::optional<double> number_attribute(const Attributes& attributes, std::string_view name) {
  if (const auto* whole = attributes.get<int64_t>(name)) return static_cast<double>(*whole);
  if (const auto* real = attributes.get<double>(name)) return *real;
  return std::nullopt;
}

tl::unexpected<Diagnostics> unknown_contents(InferContext& c, size_t input, std::string_view what) {
  return c.fail(
      "E254",
      fmt::format("{} come from '{}', which is computed from data", what, c.tensor(input).name),
      fmt::format("give them with {}, or export with constant shapes",
                  setting_entry("contents", c.tensor(input).name, "N,N,...")));
}

Result<Shape> broadcast_two(InferContext& c, const Shape& a, const Shape& b) {
  const auto rebatched = rebatch_operands(c, a, b);
  auto shape = broadcast(rebatched.first, rebatched.second, c.decider());
  if (shape) return shape;
  return c.fail(shape.error().front().code, shape.error().front().message);
}

Result<Shape> broadcast_inputs(InferContext& c, size_t first) {
  Shape shape;
  for (size_t i = first; i < c.inputs(); ++i) {
    if (!c.has(i)) continue;
    auto wider = broadcast_two(c, shape, c.shape(i));
    if (!wider) return wider;
    shape = std::move(*wider);
  }
  return shape;
}

Result<void> like_first(InferContext& c) {
  for (size_t i = 0; i < c.outputs(); ++i) c.set(i, c.dtype(0), c.shape(0));
  return {};
}

Result<void> broadcast_rule(InferContext& c) {
  auto shape = TRY(broadcast_inputs(c));
  c.set(0, c.dtype(0), std::move(shape));
  return {};
}

Result<void> compare_rule(InferContext& c) {
  auto shape = TRY(broadcast_inputs(c));
  c.set(0, DType::kBool, std::move(shape));
  return {};
}

std::vector<size_t> product_axes(size_t rank, const Attributes& attributes, std::string_view last,
                                 std::string_view batch) {
  std::vector<size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), size_t{0});
  if (rank < 2) return axes;
  if (attributes.integer(batch, 0) != 0)
    std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (attributes.integer(last, 0) != 0) std::swap(axes.back(), axes.end()[-2]);
  return axes;
}

}  // namespace plimsoll::ops
