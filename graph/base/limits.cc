#include "graph/base/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "graph/base/escape.h"
#include "graph/base/setting.h"

namespace plimsoll {
namespace {

constexpr std::array kLimitRows = {
    LimitRow{"model", "E808", "bytes of model outside tensor payload", &Limits::model},
    LimitRow{"nodes", "E802", "nodes after inlining", &Limits::nodes},
    LimitRow{"depth", "E803", "levels of subgraphs and functions", &Limits::depth},
    LimitRow{"rank", "E804", "dimensions of a tensor", &Limits::rank},
    LimitRow{"dim", "E809", "elements along one dimension", &Limits::dim},
    LimitRow{"elements", "E810", "elements of a tensor", &Limits::elements},
    LimitRow{"attributes", "E811", "attributes of a node", &Limits::attributes},
    LimitRow{"attribute-values", "E812", "values of an attribute", &Limits::attribute_values},
    LimitRow{"name", "E805", "bytes of a name", &Limits::name},
    LimitRow{"tensors", "E813", "tensors listed by one graph", &Limits::tensors},
    LimitRow{"stdin", "E814", "bytes of standard input", &Limits::stdin_bytes},
    LimitRow{"json", "E815", "bytes of JSON", &Limits::json},
    LimitRow{"json-depth", "E806", "levels of JSON", &Limits::json_depth},
    LimitRow{"json-string", "E807", "bytes of a JSON string", &Limits::json_string},
    LimitRow{"json-keys", "E807", "keys of a JSON object", &Limits::json_keys},
    LimitRow{"json-values", "E807", "JSON values", &Limits::json_values},
    LimitRow{"rows", "E816", "rows of measured runs", &Limits::rows},
    LimitRow{"line", "E817", "bytes of a line", &Limits::line},
    LimitRow{"sweep", "E818", "configurations of a sweep", &Limits::sweep},
};

const LimitRow* find(std::string_view name) {
  const auto row = std::find_if(kLimitRows.begin(), kLimitRows.end(),
                                [&](const LimitRow& candidate) { return candidate.name == name; });
  return row == kLimitRows.end() ? nullptr : &*row;
}

}  // namespace

std::span<const LimitRow> limit_rows() { return kLimitRows; }

Result<void> set_limit(Limits& limits, std::string_view name, int64_t value) {
  const LimitRow* row = find(name);
  if (!row) {
    std::vector<std::string> allowed;
    for (const LimitRow& candidate : kLimitRows) allowed.emplace_back(candidate.name);
    const std::string near = nearest(name, allowed);
    return error("E110", fmt::format("there is no limit '{}'", shortened(name)), {},
                 near.empty() ? fmt::format("limits are: {}", fmt::join(allowed, ", "))
                              : fmt::format("did you mean '{}'?", near));
  }
  if (value < 1) return error("E111", fmt::format("limit '{}' must be at least 1", name));
  limits.*(row->member) = value;
  return {};
}

tl::unexpected<Diagnostics> over_limit(const Limits& limits, std::string_view name, Place place,
                                       std::string message) {
  const LimitRow* row = find(name);
  if (!row) return error("E901", fmt::format("no limit is called '{}'", name));
  if (message.empty()) {
    message = fmt::format("more than {} {}", limits.*(row->member), row->meaning);
  }
  return error(std::string(row->code), std::move(message), std::move(place),
               "if this is meant, raise the limit with " + setting_entry("limit", name, "N"));
}

}  // namespace plimsoll
