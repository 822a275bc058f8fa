#include "hwdb/measured/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/json/object.h"
#include "graph/json/reader.h"
#include "hwdb/measured/cell_value.h"
#include "hwdb/measured/csv.h"
#include "hwdb/measured/ignored_keys.h"
#include "hwdb/measured/keys.h"
#include "hwdb/measured/other_names.h"
#include "hwdb/measured/pickle.h"
#include "hwdb/measured/tracker.h"

namespace plimsoll {
namespace {

constexpr size_t kMostNotes = 100;  // that are told
constexpr size_t kShortest = 5;     // of words near which others are not by chance

using Each = std::function<void(MeasuredRun&&)>;

std::optional<RunKind> kind_from(std::string_view text) {
  const auto found = std::find(kRunKinds.begin(), kRunKinds.end(), text);
  if (found == kRunKinds.end()) return std::nullopt;
  return static_cast<RunKind>(found - kRunKinds.begin());
}

// The kind a record names, or the file's.
std::optional<RunKind> take_kind(JsonObject& object, std::optional<RunKind> otherwise) {
  const auto text = object.optional_string("kind");
  if (!text) return otherwise;
  const auto kind = kind_from(*text);
  if (!kind) {
    object.fail("E502", fmt::format("unknown kind \"{}\"", shortened(*text, 60)),
                *object.value().find("kind"),
                fmt::format("kinds are {}", fmt::join(kRunKinds, ", ")));
  }
  return kind;
}

// One record, JSON or CSV, into `each`, where it is sound.
void take_record(const JsonValue& value, RunFile& file, Diagnostics& faults, const Each& each) {
  const size_t before = faults.size();
  const auto keyed = with_measured_keys(value, file.name, file.renamed, faults);
  JsonObject record(keyed ? *keyed : value, file.name, faults);
  MeasuredRun run;
  run.index = file.runs++;
  const auto kind = take_kind(record, file.kind);
  if (!kind && !has_error(faults)) record.fail("E306", "key \"kind\" is missing");
  decode_run(record, run);
  if (run.device.empty() && !record.has("device") && !file.is_export)
    record.fail("E306", "key \"device\" is missing");
  run.kind = kind.value_or(RunKind::kModel);
  for (const JsonMember& note : run.notes) {
    if (file.notes.size() < kMostNotes) file.notes.insert(note.key);
  }
  const bool sound =
      std::none_of(faults.begin() + static_cast<std::ptrdiff_t>(before), faults.end(),
                   [](const auto& f) { return f.severity == Severity::kError; });
  if (sound) each(std::move(run));
}

// What is written that nothing reads: a slip where it is near a known key, else a note.
void say_notes(const RunFile& file, Diagnostics& faults) {
  if (file.is_export) return;  // its columns are listed
  std::vector<std::string> known = {"kind", "input", "hidden", "dropout", "a_t", "b_t", "nodes"};
  for (const MeasuredKey& key : measured_keys()) known.emplace_back(key.name);
  const auto is_note = [](const std::string& name) {
    return std::ranges::find(ignored_keys(), name, &IgnoredKey::name) != ignored_keys().end();
  };
  const Place place{file.name, 0, 0, {}};
  std::vector<std::string> others, renamed;
  for (const auto& [name, key] : file.renamed)
    renamed.push_back(fmt::format("{} is {}", shortened(name, 40), key));
  if (!renamed.empty()) {
    faults.push_back(plimsoll::note(
        "W515", fmt::format("names of other programs: {}", fmt::join(renamed, ", ")), place));
  }
  for (const std::string& note : file.notes) {
    const std::string near = nearest(note, known);
    if (near.empty() || near == note || note.size() < kShortest || is_note(note)) {
      others.push_back(shortened(note, 40));
      continue;
    }
    faults.push_back(warning(
        "W515",
        fmt::format("\"{}\" is no key of measured runs: nothing reads it", shortened(note, 60)),
        place, fmt::format("did you mean \"{}\"?", near)));
  }
  if (others.empty()) return;
  faults.push_back(
      plimsoll::note("W515",
                     fmt::format("these columns or keys are kept as notes and have no effect: {}",
                                 fmt::join(others, ", ")),
                     place));
}

Result<RunFile> finish(RunFile file, Diagnostics faults) {
  if (has_error(faults)) return tl::make_unexpected(std::move(faults));
  say_notes(file, faults);
  if (file.missing_cells > 0) {
    faults.push_back(plimsoll::note(
        "N520", fmt::format("{} cells say that nothing was measured ([N/A])", file.missing_cells),
        {file.name, 0, 0, {}}));
  }
  if (file.runs == 0) {
    return error("E501", "no runs", {file.name, 0, 0, {}});
  }
  file.warnings = std::move(faults);
  return file;
}

// Whether every line is a record, as programs that append write them.
bool is_lines(std::string_view text) {
  const size_t end = text.find('\n');
  if (end == text.npos) return false;
  const size_t last = text.find_last_not_of(" \t\r", end - (end > 0 ? 1 : 0));
  const size_t next = text.find_first_not_of(" \t\r\n", end);
  return last != text.npos && text[last] == '}' && next != text.npos && text[next] == '{';
}

// The same as one list, each record on its line still.
std::string as_list(std::string_view lines) {
  std::string list = "[";
  bool first = true;
  while (!lines.empty()) {
    const std::string_view line = take_part(lines, '\n');
    if (!trimmed(line).empty()) {
      list += first ? "" : ",";
      list += line;
      first = false;
    }
    list += '\n';
  }
  return list + "]";
}

Result<RunFile> read_json_lines(const std::string& text, const ByteSource& source, const Each& each,
                                const Limits& limits) {
  const Result<JsonValue> value = read_json(as_list(text), source.name(), limits);
  if (!value) return tl::make_unexpected(value.error());
  RunFile file;
  file.name = source.name();
  Diagnostics faults;
  for (const JsonValue& record : *value->list()) take_record(record, file, faults, each);
  return finish(std::move(file), std::move(faults));
}

Result<RunFile> read_json_runs(const ByteSource& source, const Each& each, const Limits& limits) {
  if (source.size() > static_cast<uint64_t>(limits.json)) {
    return over_limit(limits, "json", {source.name(), 0, 0, {}});
  }
  std::string text(source.size(), '\0');
  TRY(source.read(0, std::as_writable_bytes(std::span(text))));
  if (is_lines(text)) return read_json_lines(text, source, each, limits);
  const Result<JsonValue> value = read_json(text, source.name(), limits);
  if (!value) return tl::make_unexpected(value.error());
  RunFile file;
  file.name = source.name();
  Diagnostics faults;
  JsonObject root(*value, file.name, faults, true);
  if (auto described = root.optional_object("source")) {
    file.title = described->optional_string("title").value_or("");
    file.repository = described->optional_string("repository").value_or("");
  }
  file.kind = take_kind(root, std::nullopt);
  for (const JsonValue& record : root.required_list("records")) {
    if (file.kind == RunKind::kWorkspace) {
      MeasuredRun answer;
      answer.index = file.runs++;
      answer.line = record.line;
      answer.kind = RunKind::kWorkspace;
      each(std::move(answer));
    } else {
      take_record(record, file, faults, each);
    }
  }
  return finish(std::move(file), std::move(faults));
}

constexpr std::string_view kExampleRows =
    "a header and a run are, for example, kind,device,model,batch,nvidia_smi_mb and "
    "memory,tesla-t4,builtin:resnet50,32,5120; 'plimsoll schema measured-run' has all columns. An "
    "export of Weights & Biases has the columns Name and State, one of MLflow run_id";

Result<std::vector<std::string>> read_header(CsvReader& csv, const std::string& file) {
  std::vector<std::string> columns;
  const Result<bool> any = csv.next(columns);
  if (!any) return tl::make_unexpected(any.error());
  const Place place{file, csv.line(), 0, {}};
  if (!*any) return error("E501", "no runs", place);
  for (const auto& [separator, name] : {std::pair{';', "semicolons"}, std::pair{'\t', "tabs"}}) {
    if (columns.size() == 1 && columns[0].find(separator) != std::string::npos)
      return error("E512", fmt::format("fields are separated by {}", name), place,
                   "separate them by commas");
  }
  std::set<std::string> seen;
  const bool is_export = TrackerTable(columns).is_export();
  for (const std::string& column : columns) {
    if (!seen.insert(column).second) {
      return error("E510", fmt::format("column \"{}\" given twice", shortened(column, 60)), place);
    }
  }
  for (const char* needed : {"kind", "device"}) {
    const bool named = std::ranges::any_of(other_names(), [&](const OtherName& other) {
      return other.key == needed && seen.contains(std::string(other.name));
    });
    if (seen.contains(needed) || named || is_export) continue;
    const std::string near = nearest(needed, columns);
    return error("E306", fmt::format("column \"{}\" is missing", needed), place,
                 near.empty() ? fmt::format("the columns are {}; {}",
                                            shortened(fmt::format("{}", fmt::join(columns, ", "))),
                                            kExampleRows)
                              : fmt::format("is \"{}\" meant?", shortened(near, 60)));
  }
  return columns;
}

Result<JsonValue> row_value(const std::vector<std::string>& columns,
                            const std::vector<std::string>& cells, const Place& place,
                            size_t& missing) {
  if (cells.size() != columns.size()) {
    return error("E511", fmt::format("{} fields, header has {}", cells.size(), columns.size()),
                 place);
  }
  JsonValue::Members members;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (cells[i] == "[N/A]" || cells[i] == "[Not Supported]") {
      ++missing;
      continue;
    }
    Result<std::optional<JsonValue>> value = cell_value(columns[i], cells[i], place);
    if (!value) return tl::make_unexpected(value.error());
    if (*value) members.push_back({columns[i], place.line, 0, std::move(**value)});
  }
  return JsonValue{place.line, 0, std::move(members)};
}

Result<RunFile> read_csv_runs(const ByteSource& source, const Each& each, const Limits& limits) {
  RunFile file;
  file.name = source.name();
  CsvReader csv(source, limits);
  const Result<std::vector<std::string>> header = read_header(csv, file.name);
  if (!header) return tl::make_unexpected(header.error());
  const TrackerTable table(*header);
  Diagnostics faults;
  if (table.is_export()) {
    file.is_export = true;
    file.kind = RunKind::kModel;
    faults.push_back(plimsoll::note("W515", table.described(), {file.name, csv.line(), 0, {}}));
  }
  std::vector<std::string> cells;
  while (true) {
    const Result<bool> any = csv.next(cells);
    if (!any) return tl::make_unexpected(any.error());
    if (!*any) break;
    const Place place{file.name, csv.line(), 0, {}};
    if (file.runs >= static_cast<size_t>(limits.rows)) return over_limit(limits, "rows", place);
    table.translate(cells);
    const Result<JsonValue> row = row_value(table.columns(), cells, place, file.missing_cells);
    if (!row) return tl::make_unexpected(row.error());
    take_record(*row, file, faults, each);
  }
  return finish(std::move(file), std::move(faults));
}

}  // namespace

Result<RunFile> read_measured(const ByteSource& source, const Each& each, const Limits& limits) {
  TRY(refuse_pickle(source));
  std::array<std::byte, 64> start{};
  const Result<size_t> got = source.read(0, start);
  if (!got) return tl::make_unexpected(got.error());
  const std::string_view head(reinterpret_cast<const char*>(start.data()), *got);
  const Place place{source.name(), 0, 0, {}};
  if (head.starts_with("\xFF\xFE") || head.starts_with("\xFE\xFF")) {
    return error("E302", "is UTF-16; save it as UTF-8", place);
  }
  const size_t first = head.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  if (first == head.npos && source.size() <= head.size()) return error("E501", "no runs", place);
  const bool json = source.name().ends_with(".json") ||
                    (first != head.npos && (head[first] == '{' || head[first] == '['));
  return json ? read_json_runs(source, each, limits) : read_csv_runs(source, each, limits);
}

}  // namespace plimsoll
