#include "estimator/cli/defaults.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "estimator/cli/read_request.h"
#include "estimator/plan/sweep_plan.h"
#include "graph/base/byte_source.h"
#include "graph/base/escape.h"
#include "graph/json/yaml_reader.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kFile = "plimsoll.yaml";

bool may_have_default(const FlagRow& row) { return row.name == "gpu" || is_shared_value(row.name); }

// PLIMSOLL_WORKSPACE_LIMIT. PLIMSOLL_CUDNN is another thing, the folder of a library;
// PLIMSOLL_GPU is read where a GPU is looked for.
const char* from_environment(const FlagRow& row) {
  if (row.name == "cudnn" || row.name == "gpu") return nullptr;
  std::string name = "PLIMSOLL_";
  for (const char c : row.name)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const char* const value = std::getenv(name.c_str());
  return value && *value != '\0' ? value : nullptr;
}

Result<JsonValue> read_file(const Limits& limits) {
  std::error_code failed;
  if (!std::filesystem::exists(kFile, failed)) return JsonValue{.data = JsonValue::Members()};
  const auto text = read_text(kFile, limits);
  if (!text) return tl::make_unexpected(text.error());
  auto value = read_yaml(*text, kFile, limits);
  if (!value) return value;
  if (!value->members())
    return error("E311", "defaults are names of flags and values", {kFile, 0, 0, {}});
  for (const JsonMember& member : *value->members()) {
    const FlagRow* row = find_flag(member.key);
    if (row && may_have_default(*row)) continue;
    std::vector<std::string> names;
    for (const FlagRow& flag : shared_flags()) {
      if (may_have_default(flag)) names.emplace_back(flag.name);
    }
    const std::string near = nearest(member.key, names);
    return error("E304",
                 fmt::format("'{}' is no flag that may have a default{}",
                             shortened(member.key, kQuotedColumns),
                             near.empty() ? "" : fmt::format("; did you mean {}?", near)),
                 {kFile, member.line, member.column, {}});
  }
  return value;
}

bool is_given(const SharedFlags& flags, const FlagRow& row) {
  return row.list ? !(flags.*row.list).empty() : value_of(flags, row.name) != nullptr;
}

}  // namespace

Result<Request> request_with_defaults(const SharedFlags& given) {
  SharedFlags flags = given;
  const auto file = read_file({});
  if (!file) return tl::make_unexpected(file.error());
  std::string used;
  for (const FlagRow& row : shared_flags()) {
    if (!may_have_default(row) || is_given(flags, row)) continue;
    const char* const variable = from_environment(row);
    const JsonValue* const entry = file->find(row.name);
    if (!variable && !entry) continue;
    const std::string value = variable ? variable : text_of(*entry);
    (row.list ? flags.*row.list : flags.values[std::string(row.name)]).push_back(value);
    used += fmt::format("{}{} {} of {}", used.empty() ? "" : ", ", row.name,
                        shortened(value, kQuotedColumns), variable ? "the environment" : kFile);
  }
  auto request = to_request(flags);
  if (!request) return request;
  // Whoever wrote no flag is not told that it has no effect.
  request->given = given_in(given);
  request->defaults = used;
  return request;
}

}  // namespace plimsoll::cli
