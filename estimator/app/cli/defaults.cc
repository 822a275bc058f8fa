#include "estimator/app/cli/defaults.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "estimator/app/cli/messages.h"
#include "estimator/app/cli/open_database.h"
#include "estimator/app/cli/read_request.h"
#include "estimator/app/trainer_files/apply_trainer_files.h"
#include "estimator/settings/json_texts.h"
#include "graph/base/among.h"
#include "graph/base/byte_source.h"
#include "graph/base/escape.h"
#include "graph/base/folder.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/json/object.h"
#include "graph/json/yaml_reader.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kFile = "plimsoll.yaml";
constexpr const char* kOtherFile = "plimsoll.yml";
constexpr std::string_view kTrainerFlag = "trainer";

bool may_have_default(const SettingRow& row) {
  return row.name == "gpu" || row.value.form == SettingValue::Form::kOne;
}

constexpr std::string_view kPrefix = "PLIMSOLL_";

// PLIMSOLL_WORKSPACE_LIMIT of "workspace-limit".
std::string variable_of(std::string_view flag) {
  std::string name(kPrefix);
  for (const char c : flag)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// PLIMSOLL_CUDNN is another thing, the folder of a library; PLIMSOLL_GPU is read where a GPU is
// looked for.
const char* from_environment(const SettingRow& row) {
  if (row.name == "cudnn" || row.name == "gpu") return nullptr;
  const char* const value = std::getenv(variable_of(row.name).c_str());
  return value && *value != '\0' ? value : nullptr;
}

// What the build, its tests and plimsoll-calibrate read.
constexpr std::string_view kOthers[] = {
    "PLIMSOLL_BINARY",  "PLIMSOLL_BUILD",       "PLIMSOLL_CUDNN",    "PLIMSOLL_DIFFERENCES",
    "PLIMSOLL_KILLS",   "PLIMSOLL_MONITOR",     "PLIMSOLL_MUTATION", "PLIMSOLL_MUTATIONS",
    "PLIMSOLL_OUTPUTS", "PLIMSOLL_PAPERS",      "PLIMSOLL_PYTHON",   "PLIMSOLL_RANDOM",
    "PLIMSOLL_README",  "PLIMSOLL_REQUIRE_ALL", "PLIMSOLL_SCHEMAS",  "PLIMSOLL_VEGA",
    "PLIMSOLL_WEB",     "PLIMSOLL_WHEEL",       "PLIMSOLL_WORDS"};

// A variable that names no flag is a misspelt one; one of a flag without a default of one's own
// would be ignored.
Result<void> check_variable(std::string_view name) {
  if (among(name, kOthers)) return {};
  std::vector<std::string> known;
  for (const SettingRow& row : settings()) {
    const bool good = may_have_default(row);
    if (good) known.push_back(variable_of(row.name));
    if (variable_of(row.name) != name) continue;
    if (good) return {};
    return error(
        "E101",
        fmt::format("{} is set, but {} cannot have a project default", name, setting(row.name)), {},
        fmt::format("unset it, and give {}", setting(row.name)));
  }
  const std::string near = nearest(name, known);
  return error("E101",
               fmt::format("{} is set, and names no option{}", shortened(name, kQuotedColumns),
                           near.empty() ? "" : fmt::format("; did you mean {}?", near)),
               {}, "unset it");
}

Result<void> check_environment() {
  for (char** at = environ; at && *at; ++at) {
    const std::string_view entry = *at;
    const size_t equals = entry.find('=');
    if (!entry.starts_with(kPrefix) || equals == entry.npos || equals + 1 == entry.size()) continue;
    if (auto good = check_variable(entry.substr(0, equals)); !good) return good;
  }
  return {};
}

// Null and lists have no text that a flag could take.
Result<void> check_value(const JsonMember& member) {
  const JsonValue& value = member.value;
  const bool one = !value.is_null() && !value.list() && !value.members();
  const std::string* const text = value.string();
  if (one && !(text && text->empty())) return {};
  return error(
      "E311",
      fmt::format("{} {}", shortened(member.key, kQuotedColumns),
                  value.is_null() || one ? "has no value"
                                         : "takes one value, found " + value.description()),
      {kFile, member.line, member.column, {}});
}

Result<JsonValue> read_file(const Limits& limits) {
  // A link that leads nowhere is there: its user believes that it is read.
  std::error_code failed;
  const auto is_there = [&](const char* path) {
    return std::filesystem::exists(std::filesystem::symlink_status(path, failed));
  };
  if (!is_there(kFile)) {
    if (is_there(kOtherFile))
      report(
          {warning("W516", fmt::format("{} has no effect: defaults are in {}", kOtherFile, kFile),
                   {}, "rename it")});
    return JsonValue{.data = JsonValue::Members()};
  }
  const auto text = TRY(read_text(kFile, limits));
  auto value = read_yaml(text, kFile, limits);
  if (!value) return value;
  if (!value->members())
    return error("E311", "defaults are names of options and values", {kFile, 0, 0, {}});
  for (const JsonMember& member : *value->members()) {
    const SettingRow* row = find_setting(member.key);
    if (row && may_have_default(*row)) {
      TRY(check_value(member));
      continue;
    }
    std::vector<std::string> names;
    for (const SettingRow& flag : settings()) {
      if (may_have_default(flag)) names.emplace_back(flag.name);
    }
    const std::string near = nearest(member.key, names);
    return error("E304",
                 fmt::format("'{}' is no option that may have a default{}",
                             shortened(member.key, kQuotedColumns),
                             near.empty() ? "" : fmt::format("; did you mean {}?", near)),
                 {kFile, member.line, member.column, {}});
  }
  return value;
}

// Nobody gave the flag: a value that it does not take is told where it stands.
Result<void> check_taken(const SettingRow& row, const std::string& value, const JsonValue* entry) {
  Request ignored;
  auto read = row.value.read(row, value, ignored);
  if (read) return {};
  Diagnostics faults = std::move(read.error());
  for (Diagnostic& fault : faults) {
    if (entry) {
      fault.place = {kFile, entry->line, entry->column, {}};
    } else {
      fault.help = fmt::format("{} is set in the environment{}{}", variable_of(row.name),
                               fault.help.empty() ? "" : "; ", fault.help);
    }
  }
  return tl::make_unexpected(std::move(faults));
}

void add_used(std::string& used, const std::string& more) {
  if (!more.empty()) used += (used.empty() ? "" : ", ") + more;
}

// Files of training programs, as the settings that they hold.
Result<void> take_trainer_files(FlagsWithDefaults& all,
                                const std::set<std::string, std::less<>>& left_out) {
  auto files = TRY(apply_trainer_files(all.flags, left_out));
  const Diagnostics diagnostics = as_strict(std::move(files.diagnostics), all.flags.has("strict"));
  if (has_error(diagnostics)) return tl::make_unexpected(diagnostics);
  report(diagnostics);
  add_used(all.used, files.used);
  all.names.merge(files.names);
  for (std::string& path : files.read) all.read.push_back({kTrainerFlag, std::move(path)});
  return {};
}

}  // namespace

std::vector<NamedFile> files_named_by(const GivenSettings& given) {
  std::vector<NamedFile> named;
  const auto add = [&](std::string_view name, const std::string& path) {
    if (path.empty() || !path_exists(path)) return;
    if (!is_folder(path)) return named.push_back({name, path});
    for (const char* file : {"config.json", "adapter_config.json"})
      named.push_back({name, path_in(path, file)});
  };
  add("model", given.model);
  for (const GivenSettings::One& one : given.all()) add(one.row->name, one.text);
  return named;
}

Result<FlagsWithDefaults> with_defaults(const SharedFlags& given,
                                        const std::set<std::string, std::less<>>& left_out) {
  FlagsWithDefaults all{given, {}, {}, {}};
  SharedFlags& flags = all.flags;
  TRY(take_trainer_files(all, left_out));
  TRY(check_environment());
  const auto file = TRY(read_file({}));
  for (const SettingRow& row : settings()) {
    if (!may_have_default(row) || flags.has(row.name) || left_out.contains(row.name)) continue;
    const char* const variable = from_environment(row);
    const JsonValue* const entry = file.find(row.name);
    if (!variable && !entry) continue;
    const std::string value = variable ? variable : text_of(*entry);
    // A file is read below, where all defaults are known: they win over it.
    if (row.name != kTrainerFlag || !names_trainer_file(value))
      TRY(check_taken(row, value, variable ? nullptr : entry));
    flags.add(row, value);
    all.names.emplace(row.name);
    add_used(all.used, fmt::format("{} {} of {}", row.name, shortened(value, kQuotedColumns),
                                   variable ? "the environment" : kFile));
  }
  TRY(take_trainer_files(all, left_out));
  for (NamedFile& named : files_named_by(flags)) all.read.push_back(std::move(named));
  if (!file.members()->empty()) all.read.push_back({{}, kFile});
  return all;
}

Result<Request> request_with_defaults(const SharedFlags& given,
                                      const std::set<std::string, std::less<>>& left_out,
                                      std::vector<NamedFile>* read) {
  const auto all = TRY(with_defaults(given, left_out));
  if (read) *read = all.read;
  auto request = to_request(all.flags);
  if (!request) return request;
  // Whoever wrote no flag is not told that it has no effect.
  request->given = given.names();
  request->by_default = all.names;
  request->defaults = all.used;
  return request;
}

}  // namespace plimsoll::cli
