#include "hwdb/file_figures.h"

#include <fmt/format.h>

#include "graph/base/escape.h"

namespace plimsoll {
namespace {

std::optional<Diagnostic> fault(std::string code, std::string message) {
  return error(std::move(code), std::move(message)).value().front();
}

}  // namespace

tl::unexpected<Diagnostics> named(std::string_view key, Diagnostics wrong) {
  for (Diagnostic& each : wrong) each.message = fmt::format("{}: {}", key, each.message);
  return tl::make_unexpected(std::move(wrong));
}

tl::unexpected<Diagnostics> implausible(std::string_view key, std::string_view text,
                                        Plausible range) {
  return error("E402", fmt::format("{} is {}; plausible is {} to {}", key,
                                   shortened(text, kQuotedColumns), range.low, range.high));
}

void describe_identity(Fields& f, std::string_view schema, std::string& id,
                       std::vector<std::string>& aliases, std::string_view of_aliases) {
  constexpr std::string_view kId = "^[a-z0-9][a-z0-9.-]*$";
  f.form(schema, 1);
  f("id", id, {.pattern = kId});
  f("aliases", aliases, {.meaning = of_aliases, .absent_where = false, .pattern = kId});
}

std::optional<Diagnostic> read_version(const std::string& text, std::string_view key,
                                       std::optional<Version>& version) {
  version = parse_version(text);
  if (version) return std::nullopt;
  return fault("E401", fmt::format("{} \"{}\" is not a version, as 1.13 is", key,
                                   shortened(text, kQuotedColumns)));
}

void describe_version(Fields& f, std::string_view key, Version& version, std::string_view meaning) {
  f.parsed(key, {.meaning = meaning, .pattern = kVersionPattern}, [&](const std::string& text) {
    std::optional<Version> read;
    const auto wrong = read_version(text, key, read);
    if (read) version = *read;
    return wrong;
  });
}

void describe_version(Fields& f, std::string_view key, std::optional<Version>& version,
                      std::string_view meaning) {
  f.parsed(key, {.meaning = meaning, .absent_where = false, .pattern = kVersionPattern},
           [&](const std::string& text) { return read_version(text, key, version); });
}

std::string FileFigures::with_range(std::string_view meaning, std::string_view low,
                                    std::string_view high) {
  return fmt::format("{}{}{} to {}", meaning, meaning.empty() ? "" : "; ", low, high);
}

std::string FileFigures::shown(double real) { return fmt::format("{}", real); }

std::string FileFigures::source(std::string_view name) {
  std::string source;
  fields_.parsed("source", {.meaning = "where the figure is from, or 'assumed'", .pattern = "."},
                 [&](const std::string& text) {
                   source = text;
                   return text.empty() ? fault("E405", fmt::format("{} names no source", name))
                                       : std::nullopt;
                 });
  return source;
}

void FileFigures::operator()(std::string_view key, std::string& text, const FieldNote& note) {
  figure(key, note, [&](const FieldNote& of_value) {
    fields_("value", text, of_value);
    return text;
  });
}

void FileFigures::operator()(std::string_view key, bool& flag, const FieldNote& note) {
  figure(key, note, [&](const FieldNote& of_value) {
    fields_("value", flag, of_value);
    return std::string(flag ? "true" : "false");
  });
}

void FileFigures::operator()(std::string_view key, int64_t& whole, IntegerRange range,
                             FieldNote note) {
  const std::string meaning =
      with_range(note.meaning, std::to_string(range.low), std::to_string(range.high));
  note.meaning = meaning;
  if (plausible_) note.low = static_cast<double>(range.low);
  if (plausible_) note.high = static_cast<double>(range.high);
  figure(key, note, [&](const FieldNote& of_value) {
    fields_("value", whole, of_value);
    return std::to_string(whole);
  });
}

}  // namespace plimsoll
