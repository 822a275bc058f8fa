#include "estimator/plan/measured_records.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "graph/config/json_reader.h"

namespace plimsoll {

std::optional<double> MeasuredRecord::number(std::string_view key) const {
  const auto at = fields_.find(key);
  if (at == fields_.end()) return std::nullopt;
  const auto* value = std::get_if<double>(&at->second);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<int64_t> MeasuredRecord::integer(std::string_view key) const {
  const auto value = number(key);
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!value || std::abs(*value) > kExact || std::floor(*value) != *value) return std::nullopt;
  return static_cast<int64_t>(*value);
}

std::string MeasuredRecord::text(std::string_view key) const {
  const auto at = fields_.find(key);
  if (at == fields_.end()) return {};
  const auto* value = std::get_if<std::string>(&at->second);
  return value ? *value : std::string();
}

std::vector<double> MeasuredRecord::numbers(std::string_view key) const {
  const auto at = fields_.find(key);
  if (at == fields_.end()) return {};
  const auto* value = std::get_if<std::vector<double>>(&at->second);
  return value ? *value : std::vector<double>();
}

std::vector<std::string> MeasuredRecord::texts(std::string_view key) const {
  const auto at = fields_.find(key);
  if (at == fields_.end()) return {};
  const auto* value = std::get_if<std::vector<std::string>>(&at->second);
  return value ? *value : std::vector<std::string>();
}

namespace {

// A field's value, or nothing for what no rule looks at: null, objects, mixed lists.
std::optional<MeasuredRecord::Field> field_of(const JsonValue& value) {
  if (const auto real = value.real()) return *real;
  if (const auto* text = value.string()) return *text;
  if (const auto flag = value.boolean()) return *flag;
  const auto* list = value.list();
  if (!list) return std::nullopt;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  for (const JsonValue& item : *list) {
    if (const auto real = item.real()) numbers.push_back(*real);
    if (const auto* text = item.string()) texts.push_back(*text);
  }
  if (texts.size() == list->size()) return texts;
  if (numbers.size() == list->size()) return numbers;
  return std::nullopt;
}

Result<std::vector<MeasuredRecord>> read_json_records(std::string_view text,
                                                      const std::string& file,
                                                      const Limits& limits) {
  const auto root = read_json(text, file, limits);
  if (!root) return tl::make_unexpected(root.error());
  const JsonValue* kind = root->find("kind");
  const JsonValue* list = root->find("records");
  if (!kind || !kind->string() || !list || !list->list()) {
    return error("E502", "is not a measured-run file: it needs \"kind\" and \"records\"",
                 {.file = file, .line = root->line, .column = root->column, .node = {}});
  }
  std::vector<MeasuredRecord> records;
  records.reserve(list->list()->size());
  for (const JsonValue& value : *list->list()) {
    MeasuredRecord record;
    record.file = file;
    record.index = static_cast<int64_t>(records.size());
    record.line = value.line;
    record.kind = *kind->string();
    if (const auto* members = value.members()) {
      for (const JsonMember& m : *members) {
        if (auto field = field_of(m.value)) record.set(m.key, std::move(*field));
      }
    }
    records.push_back(std::move(record));
  }
  return records;
}

// One CSV line's fields; quotes as RFC 4180, on one line.
std::vector<std::string> split_csv(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r' || i + 1 != line.size()) {
      fields.back() += c;
    }
  }
  return fields;
}

MeasuredRecord::Field csv_field(const std::string& text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && end == text.data() + text.size() && std::isfinite(number))
    return number;
  return text;
}

Result<std::vector<MeasuredRecord>> read_csv_records(std::string_view text,
                                                     const std::string& file) {
  std::vector<MeasuredRecord> records;
  std::vector<std::string> header;
  int number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (line.empty() || line == "\r") continue;
    auto fields = split_csv(line);
    if (header.empty()) {
      header = std::move(fields);
      continue;
    }
    if (fields.size() != header.size()) {
      return error("E511", fmt::format("{} fields, header has {}", fields.size(), header.size()),
                   {.file = file, .line = number, .column = 1, .node = {}});
    }
    MeasuredRecord record;
    record.file = file;
    record.index = static_cast<int64_t>(records.size());
    record.line = number;
    for (size_t i = 0; i < header.size(); ++i) {
      if (!fields[i].empty()) record.set(header[i], csv_field(fields[i]));
    }
    record.kind = record.text("kind");
    if (record.kind.empty())
      record.kind = record.has("op") ? "kernel" : record.has("nvidia_smi_mb") ? "memory" : "model";
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

Result<std::vector<MeasuredRecord>> read_records(std::string_view text, const std::string& file,
                                                 const Limits& limits) {
  auto records =
      file.ends_with(".csv") ? read_csv_records(text, file) : read_json_records(text, file, limits);
  if (records && records->empty())
    return error("E501", "holds no runs", {.file = file, .node = {}});
  return records;
}

}  // namespace plimsoll
