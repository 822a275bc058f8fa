// Which model, and what of it its file leaves open.
#include <fmt/format.h>

#include <array>

#include "estimator/settings/lengths.h"
#include "estimator/settings/record_forms.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"
#include "estimator/settings/values.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

using Type = SettingValue::Type;

constexpr std::array<std::string_view, 2> kBranches = {"then", "else"};
constexpr std::array<std::string_view, 2> kPrices = {"ELEMENTWISE", "FREE"};

Result<int64_t> read_extent(std::string_view setting, std::string_view text) {
  return parse_count(setting, text, 1, kLargestCount);
}
Result<int64_t> read_trips(std::string_view setting, std::string_view text) {
  return parse_count(setting, text, 0, 1 << 20);
}
Result<std::string> read_text(std::string_view, std::string_view text) { return std::string(text); }
template <const auto& words>
Result<std::string> read_one_of(std::string_view setting, std::string_view text) {
  return parse_word(setting, text, {words.begin(), words.end()}).map([&](size_t) {
    return std::string(text);
  });
}

constexpr SettingValue shapes() {
  SettingValue value =
      entries_value<parse_extents, &Request::shapes>("NAME=1x3x224x224", Type::kText);
  value.write = [](JsonWriter& out, const Request& from) {
    out.begin_object();
    for (const auto& [name, extents] : from.shapes) write_list(out.key(name), extents, 'x');
    out.end_object();
  };
  return value;
}

// Buckets hold the sizes of every dimension; the setting lists the lengths of each.
void write_lengths(JsonWriter& out, const Request& from) {
  out.begin_object();
  const Binding none;
  for (const auto& [name, first] : from.lengths.empty() ? none : from.lengths.front().sizes) {
    std::string list;
    for (const LengthBucket& bucket : from.lengths)
      list += fmt::format("{}{}:{}", list.empty() ? "" : ",", bucket.sizes.at(name), bucket.share);
    out.key(name).string(list);
  }
  out.end_object();
}

constexpr SettingValue lengths() {
  return {.form = SettingValue::Form::kEntries,
          .placeholder = "NAME=N:SHARE,...",
          .read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
            const auto entry = TRY(read_entry(row, text));
            return add_lengths(entry.name, entry.value, into.lengths);
          },
          .write = write_lengths};
}

constexpr SettingValue limits() {
  return {.form = SettingValue::Form::kEntries,
          .type = Type::kCount,
          .placeholder = "NAME=N",
          .read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
            const auto entry = TRY(read_entry(row, text));
            return parse_count(entry.setting, entry.value, 1, int64_t{1} << 62)
                .and_then([&](int64_t most) { return set_limit(into.limits, entry.name, most); });
          },
          .write =
              [](JsonWriter& out, const Request& from) {
                out.begin_object();
                for (const LimitRow& limit : limit_rows()) {
                  if (from.limits.*limit.member != Limits{}.*limit.member)
                    out.key(limit.name).integer(from.limits.*limit.member);
                }
                out.end_object();
              }};
}

constexpr VerbRule kSearched[] = {{"max-batch", "the search varies the batch"}};
constexpr VerbRule kOneSize[] = {{"max-batch --vary", "the search has one size", true},
                                 {"validate", "a record has one size", true},
                                 {"validate --from", "a run has one size", true}};

constexpr SettingRow kModelRows[] = {
    {.name = "batch",
     .group = kModelGroup,
     .shown = kOften,
     .help = "samples per GPU and step",
     .default_text = "that of the file, else 32",
     .value = count_value<&Request::batch>(1, kLargestCount),
     .record = {.name = "batch", .write = write_batch, .composed = true},
     .axis = SweepAxis::kSize,
     .verbs = kSearched},
    {.name = "image",
     .group = kModelGroup,
     .help = "height and width of image inputs",
     .default_text = "the model's",
     .value = count_value<&Request::image>(1, 65536),
     .record = {.name = "input", .write = write_image, .composed = true}},
    {.name = "dim",
     .group = kModelGroup,
     .shown = kOften,
     .help = "size that the model leaves open: sequence=512",
     .value = entries_value<read_extent, &Request::dims>("NAME=N", Type::kCount),
     .record = {.name = "sequence", .write = write_sequence, .composed = true},
     .axis = SweepAxis::kNone},
    {.name = "set",
     .group = kModelGroup,
     .help = "a parameter that 'plimsoll models NAME' lists",
     .value = entries_value<read_text, &Request::settings>("NAME=VALUE", Type::kText),
     .axis = SweepAxis::kNone},
    {.name = "shape",
     .group = kModelGroup,
     .help = "shape of a graph input",
     .value = shapes(),
     .axis = SweepAxis::kNone},
    {.name = "longest",
     .group = kModelGroup,
     .help = "size of a dimension in the longest batch; memory is that of this batch",
     .value = entries_value<read_extent, &Request::longest>("NAME=N", Type::kCount),
     .axis = SweepAxis::kNone,
     .verbs = kOneSize},
    {.name = "lengths",
     .group = kModelGroup,
     .help =
         "lengths of batches with their shares, e.g. sequence=64:3,128:1; the time is their mean",
     .value = lengths(),
     .axis = SweepAxis::kNone,
     .verbs = kOneSize},
    {.name = "trip",
     .group = kModelGroup,
     .help = "iterations of a loop",
     .value = entries_value<read_trips, &Request::trips>("NODE=K", Type::kCount),
     .axis = SweepAxis::kNone},
    {.name = "branch",
     .group = kModelGroup,
     .help = "branch of an If whose condition depends on data",
     .value =
         entries_value<read_one_of<kBranches>, &Request::branches>("NODE=then|else", Type::kWord),
     .axis = SweepAxis::kNone},
    {.name = "contents",
     .group = kModelGroup,
     .help = "values of an input that determines shapes",
     .value = entries_value<parse_numbers, &Request::contents>("TENSOR=N,N,...", Type::kText),
     .axis = SweepAxis::kNone},
    {.name = "assume",
     .group = kModelGroup,
     .help = "cost of the unknown operator OP",
     .value =
         entries_value<read_one_of<kPrices>, &Request::assume>("OP=FREE|ELEMENTWISE", Type::kWord),
     .axis = SweepAxis::kNone},
    {.name = "no-recover",
     .group = kModelGroup,
     .help = "do not merge operators that the exporter split, such as GELU",
     .value = on_off_switch<&Request::recover>(false),
     .axis = SweepAxis::kNone},
    {.name = "limit",
     .group = kModelGroup,
     .help = "raise a limit on input files",
     .value = limits(),
     .record = {.of_run = false},
     .axis = SweepAxis::kNone},
    {.name = "strict",
     .group = kModelGroup,
     .help = "treat warnings about the model as errors",
     .value = on_off_switch<&Request::strict>(),
     .record = {.of_run = false},
     .axis = SweepAxis::kNone},
};

}  // namespace

std::span<const SettingRow> model_settings() { return kModelRows; }

}  // namespace plimsoll
