#include "estimator/app/report/measured_run_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <variant>

#include "estimator/settings/setting_row.h"
#include "graph/json/writer.h"
#include "hwdb/measured/ignored_keys.h"
#include "hwdb/measured/keys.h"

namespace plimsoll {
namespace {

using Types = std::initializer_list<std::string_view>;

// null says what a missing key does.
void write_types(JsonWriter& out, Types types) {
  out.key("type").begin_array();
  for (const std::string_view type : types) out.string(type);
  out.string("null").end_array();
}

// What a member of a record may be.
struct MemberSchema {
  JsonWriter& out;

  void operator()(std::string MeasuredRun::*) const { write_types(out, {"string"}); }
  void operator()(std::optional<bool> MeasuredRun::*) const { write_types(out, {"boolean"}); }
  void operator()(std::optional<int64_t> MeasuredRun::*) const { whole("integer"); }
  void operator()(std::vector<int64_t> MeasuredRun::*) const { list("integer"); }
  void operator()(std::vector<std::string> MeasuredRun::*) const { list("string"); }
  void operator()(Above) const {
    write_types(out, {"number"});
    out.key("exclusiveMinimum").integer(0);
  }
  void operator()(FromZero) const { whole("number"); }

 private:
  void whole(std::string_view type) const {
    write_types(out, {type});
    out.key("minimum").integer(0);
  }
  void list(std::string_view type) const {
    write_types(out, {"array"});
    out.key("items").begin_object().key("type").string(type).end_object();
  }
};

// Of keys that are no settings; empty for those that their name explains.
std::string_view meaning_of(std::string_view key) {
  struct Meaning {
    std::string_view key, text;
  };
  static constexpr Meaning kMeanings[] = {
      {"flags",
       "What the source warns of. A record is skipped, with the flag as the reason, where one "
       "begins with suspect_, implausibly_, two_files_disagree, input_bound, near_capacity, "
       "sequence_length_varies, do_not_use_for_fitting or model_shape_only_as_size. One that "
       "begins with out_of_memory is a fact: the run did not fit. Others change nothing."},
      {"batch",
       "Samples of all GPUs in one update. Together with micro_batch, and without accumulation, it "
       "sets how many passes an update has."},
      {"batch_per_gpu", "Samples of a GPU in one update."},
      {"micro_batch", "Samples of a GPU in one forward and backward pass."},
      {"n_gpus", "GPUs of the run."},
      {"memory_counter", "Which counter peak_memory_* was read from, in words."},
      {"out_of_memory", "A fact: the run did not fit."},
      {"ran", "A fact: the run ended."},
      {"seq_is_maximum", "Most sequences are shorter than seq: a time is not compared."},
      {"time_is_derived", "total_ms was computed from a rate."}};
  const auto* const row = std::ranges::find(kMeanings, key, &Meaning::key);
  return row == std::end(kMeanings) ? std::string_view() : row->text;
}

std::string described(std::string_view key) {
  if (const std::string_view text = meaning_of(key); !text.empty()) return std::string(text);
  for (const SettingRow& row : settings()) {
    if (row.record.name == key) return fmt::format("As the setting {}: {}", row.name, row.help);
  }
  return {};
}

// Keys that sources write in more than one type.
void write_loose_keys(JsonWriter& out) {
  struct Row {
    std::string_view key;
    Types types;
  };
  const Row rows[] = {{"input", {"string", "array"}},     {"hidden", {"integer", "array"}},
                      {"dropout", {"boolean", "number"}}, {"sequence", {"string", "integer"}},
                      {"nodes", {"string", "integer"}},   {"a_t", {"boolean", "string"}},
                      {"b_t", {"boolean", "string"}}};
  for (const auto& [key, types] : rows) {
    out.key(key).begin_object();
    write_types(out, types);
    out.end_object();
  }
}

void write_kinds(JsonWriter& out) {
  out.key("kind").begin_object().key("enum").begin_array();
  for (const std::string_view kind : kRunKinds) {
    if (kind != name(RunKind::kWorkspace)) out.string(kind);
  }
  out.end_array().end_object();
}

void write_record(JsonWriter& out) {
  out.key("record").begin_object();
  out.key("type").string("object");
  out.key("properties").begin_object();
  write_kinds(out);
  for (const MeasuredKey& key : measured_keys()) {
    out.key(key.name).begin_object();
    std::visit(MemberSchema{out}, key.member);
    if (const std::string text = described(key.name); !text.empty())
      out.key("description").string(text);
    out.end_object();
  }
  write_loose_keys(out);
  for (const IgnoredKey& key : ignored_keys()) {
    const std::string_view what =
        key.changes_run ? "Not modelled: a record with it is skipped. " : "Not read. ";
    out.key(key.name).begin_object();
    out.key("description").string(fmt::format("{}{}", what, key.meaning)).end_object();
  }
  out.end_object();
  out.key("required").begin_array().string("device").end_array().end_object();
}

void write_reference(JsonWriter& out, std::string_view name) {
  out.begin_object().key("$ref").string("#/definitions/" + std::string(name)).end_object();
}

void write_file(JsonWriter& out) {
  out.key("file").begin_object();
  out.key("type").string("object");
  out.key("properties").begin_object();
  out.key("source").begin_object().key("type").string("object").end_object();
  write_kinds(out);
  out.key("records").begin_object().key("type").string("array").key("items");
  write_reference(out, "record");
  out.end_object().end_object();
  out.key("required").begin_array().string("records").end_array().end_object();
}

}  // namespace

std::string measured_run_schema() {
  JsonWriter out(JsonWriter::Layout::kIndented);
  out.begin_object();
  out.key("$schema").string("http://json-schema.org/draft-07/schema#");
  out.key("title").string("measured runs, for plimsoll validate");
  out.key("description")
      .string(
          "A file, or one line of JSON lines; CSV has the same keys as columns. A key's ending is "
          "its unit (MiB for _mb). A key that is not listed is kept as a note and not read.");
  out.key("definitions").begin_object();
  write_record(out);
  write_file(out);
  out.end_object();
  out.key("anyOf").begin_array();
  write_reference(out, "file");
  out.begin_object().key("allOf").begin_array();
  write_reference(out, "record");
  out.begin_object().key("required").begin_array().string("kind").end_array().end_object();
  out.end_array().end_object().end_array().end_object();
  return out.take() + "\n";
}

}  // namespace plimsoll
