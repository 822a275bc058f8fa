#include "estimator/library/workspace/rule.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "graph/base/checked.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/json/object.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

constexpr int kFeatures = 20;
// What a plan's numbers stand for; the last is left out where it is 0.
constexpr size_t kPlanNumbers = 6;
constexpr int64_t kMostFilters = 1 << 12;

// Along one side, the output places that differ in which taps lie in the padding.
int64_t kinds(int64_t out, int64_t pad, int64_t reach, int64_t stride) {
  return std::min(out, 2 * ceil_divide(std::min(pad, reach), stride) + 1);
}

// Words that tell which taps of an output pixel lie in the padding, and where each tap is: cuDNN's
// forward engine 34 takes a problem of 763 at most (found by asking, not documented).
int64_t gather_words(const WorkspaceShape& v) {
  const int64_t taps = v.r * v.s;
  return kinds(v.p, v.pad_h, v.dil_h * (v.r - 1), v.stride_h) *
             kinds(v.q, v.pad_w, v.dil_w * (v.s - 1), v.stride_w) * ceil_divide(taps, 32) +
         taps;
}

std::array<int64_t, kFeatures> features(const WorkspaceShape& v) {
  const int64_t cg = v.c / v.groups, kg = v.k / v.groups;
  const bool winograd = v.r == 3 && v.s == 3 && v.stride_h == 1 && v.stride_w == 1 &&
                        v.dil_h == 1 && v.dil_w == 1 && v.pad_h <= 1 && v.pad_w <= 1;
  return {v.n,
          cg,
          kg,
          v.h * v.w,
          v.p * v.q,
          v.r * v.s,
          std::max(v.stride_h, v.stride_w),
          std::max(v.dil_h, v.dil_w),
          std::max(v.pad_h, v.pad_w),
          v.groups,
          v.n * v.p * v.q,
          cg * v.r * v.s,
          kg * v.r * v.s,
          v.n * v.h * v.w,
          winograd ? 1 : 0,
          v.c * v.h * v.w,
          v.k * v.p * v.q,
          cg % 8 == 0 ? 1 : 0,
          kg % 8 == 0 ? 1 : 0,
          gather_words(v)};
}

// The training library compares features in single precision.
bool at_most(int64_t feature, int64_t limit) {
  return static_cast<double>(static_cast<float>(feature)) <= static_cast<double>(limit);
}

std::optional<std::vector<int64_t>> numbers(std::string_view text) {
  std::vector<int64_t> found;
  while (!text.empty()) {
    const auto number = parse_number<int64_t>(take_part(text, ' '));
    if (!number) return std::nullopt;
    found.push_back(*number);
  }
  return found;
}

tl::unexpected<Diagnostics> damaged(std::string_view file, const char* what) {
  Place place;
  place.file = file;
  return error("E301", what, std::move(place));
}

}  // namespace

Result<WorkspaceRule> WorkspaceRule::read(std::string_view json, std::string_view file_name) {
  const auto value = TRY(read_json(json, file_name));
  Diagnostics faults;
  JsonObject root(value, file_name, faults, true);
  WorkspaceRule rule;
  for (const JsonValue& item : root.required_list("trees")) {
    JsonObject object(item, file_name, faults);
    const auto pass = object.required_choice("pass", {"fprop", "dgrad", "wgrad"});
    const bool tensor = object.required_bool("tensor_cores");
    const auto feature = numbers(object.required_string("feature"));
    const auto values = numbers(object.required_string("value"));
    const auto right = numbers(object.required_string("right"));
    const auto plans = object.required_list("plans");
    if (has_error(faults)) return tl::unexpected(faults);
    if (!feature || !values || !right || feature->empty() || feature->size() != values->size() ||
        feature->size() != right->size()) {
      return damaged(file_name, "a tree's columns are no lists of numbers of one length");
    }
    Tree& tree = rule.trees_[tensor ? 1 : 0][pass == "fprop" ? 0 : pass == "dgrad" ? 1 : 2];
    for (const JsonValue& plan : plans) {
      std::array<int64_t, kPlanNumbers> fields{};
      const auto* list = plan.list();
      if (!list || list->size() + 1 < fields.size() || list->size() > fields.size()) {
        return damaged(file_name, "a plan has 5 or 6 numbers");
      }
      for (size_t i = 0; i < list->size(); ++i) {
        const auto field = (*list)[i].integer();
        const int64_t most = i + 1 == fields.size() ? kMostFilters : int64_t{1} << 40;
        if (!field || *field < -most || *field > most) {
          return damaged(file_name, "a plan has 5 or 6 whole numbers");
        }
        fields[i] = *field;
      }
      tree.plans.push_back({.form = {.engine = static_cast<int>(fields[0]),
                                     .tile = static_cast<int>(fields[1]),
                                     .tensor_core = tensor,
                                     .parts = static_cast<int>(fields[2]),
                                     .extra = fields[3],
                                     .filters = fields[5]},
                            .preferred = fields[4] != 0});
    }
    // Children stand behind their parent, so that walking ends.
    const auto count = static_cast<int64_t>(feature->size());
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(i);
      const bool leaf = (*feature)[at] < 0;
      const bool sound =
          leaf ? (*values)[at] >= 0 && (*values)[at] < static_cast<int64_t>(tree.plans.size())
               : (*feature)[at] < kFeatures && i + 1 < count && (*right)[at] > i &&
                     (*right)[at] < count;
      if (!sound) return damaged(file_name, "a tree points outside itself");
      tree.nodes.push_back({.feature = leaf ? -1 : static_cast<int32_t>((*feature)[at]),
                            .right = static_cast<int32_t>((*right)[at]),
                            .value = (*values)[at]});
    }
  }
  if (has_error(faults)) return tl::unexpected(faults);
  return rule;
}

std::optional<WorkspaceRule::Guess> WorkspaceRule::plain(const WorkspaceShape& shape,
                                                         Pass pass) const {
  return walk(trees_[0][static_cast<size_t>(pass) % 3], shape);
}

std::optional<WorkspaceRule::Guess> WorkspaceRule::tensor(const WorkspaceShape& shape,
                                                          Pass pass) const {
  return walk(trees_[1][static_cast<size_t>(pass) % 3], shape);
}

std::optional<WorkspaceRule::Guess> WorkspaceRule::walk(const Tree& tree,
                                                        const WorkspaceShape& shape) const {
  if (tree.nodes.empty()) return std::nullopt;
  const auto values = features(shape);
  size_t at = 0;
  while (tree.nodes[at].feature >= 0) {
    const Node& node = tree.nodes[at];
    const bool left = at_most(values[static_cast<size_t>(node.feature)], node.value);
    at = left ? at + 1 : static_cast<size_t>(node.right);
  }
  const Guess& guess = tree.plans[static_cast<size_t>(tree.nodes[at].value)];
  return guess.form.engine < 0 ? std::nullopt : std::optional(guess);
}

}  // namespace plimsoll
