// Every row: read from a command line, from JSON as plans and answers have it, from a measured
// record, and told again as it was read.
#include <doctest/doctest.h>

#include <set>
#include <span>

#include "estimator/app/validate/measured_request.h"
#include "estimator/settings/json_texts.h"
#include "estimator/settings/records.h"
#include "graph/json/reader.h"
#include "hwdb/measured/reader.h"
#include "tests/estimator/settings/examples.h"

using namespace plimsoll;

namespace {

GivenSettings asked(const SettingRow& row, const std::string& text) {
  GivenSettings settings;
  settings.model = "builtin:mlp";
  settings.add(row, text);
  return settings;
}

// Its value, as JSON.
std::string told(const SettingRow& row, const Request& request) {
  JsonWriter out;
  row.value.write(out, request);
  return out.take();
}

// Rows whose value is a file's.
bool reads_file(const SettingRow& row) { return row.name == "machine"; }

}  // namespace

TEST_CASE("every setting: a name, a group, help, and a value to try it with") {
  std::set<std::string_view> names, keys;
  for (const SettingRow& row : settings()) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(find_setting(row.name) == &row);
    CHECK(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == row.name.npos);
    CHECK(*row.group != '\0');
    CHECK(*row.help != '\0');
    CHECK((row.value.read != nullptr));
    CHECK((row.value.write != nullptr));
    for (const ActsWhere& acts : {row.acts, row.also})
      CHECK((acts.holds == nullptr) == acts.why.empty());
    const bool alone = !row.record.name.empty() && !row.record.composed;
    if (alone) CHECK(keys.insert(row.record.name).second);
    if (!reads_file(row)) CHECK(!test::texts_for(row).empty());
  }
  CHECK(names.size() > 50);
}

TEST_CASE("every setting: what is read is told, and what is told is read again") {
  for (const SettingRow& row : settings()) {
    if (reads_file(row)) continue;
    for (const std::string& text : test::texts_for(row)) {
      CAPTURE(row.name);
      CAPTURE(text);
      const auto request = to_request(asked(row, text));
      REQUIRE(request);
      CHECK(request->given == std::set<std::string, std::less<>>{std::string(row.name)});
      const auto json = read_json(told(row, *request), "told.json");
      REQUIRE(json);
      const auto texts = texts_of(row, row.name, *json);
      REQUIRE(texts);
      GivenSettings again;
      again.model = "builtin:mlp";
      for (const std::string& one : *texts) again.add(row, one);
      // A row's default is not given twice.
      if (texts->empty()) continue;
      const auto same = to_request(again);
      REQUIRE(same);
      CHECK(*same == *request);
    }
  }
}

TEST_CASE("every setting: what is no value of it is refused by its name") {
  for (const SettingRow& row : settings()) {
    using Type = SettingValue::Type;
    const bool any = row.value.type == Type::kText || row.value.type == Type::kPath ||
                     row.value.type == Type::kGlob || row.value.form == SettingValue::Form::kSwitch;
    // Names that hwdb knows, or not.
    const bool looked_up = row.name == "framework" || row.name == "link" || row.name == "network";
    if (any || looked_up) continue;
    CAPTURE(row.name);
    for (const std::string text : {"no such", "-1", "010x"}) {
      const auto request = to_request(asked(row, text));
      REQUIRE(!request);
      const std::string& message = request.error().front().message;
      CHECK(message.find(std::string(row.name)) != message.npos);
    }
  }
}

TEST_CASE("every setting of a run: a record that says it is read as the same request") {
  for (const SettingRow& row : settings()) {
    if (row.record.name.empty() || !row.record.of_run) continue;
    for (const std::string& text : test::texts_for(row)) {
      CAPTURE(row.name);
      CAPTURE(text);
      GivenSettings settings;
      settings.model = "builtin:resnet50";
      settings.add(*find_setting("batch"), row.name == "batch" ? text : "8");
      if (row.name != "gpu") settings.add(*find_setting("gpu"), "tesla-t4");
      // What joins GPUs is said where there are several.
      if (row.name == "link") settings.add(*find_setting("gpus"), "2");
      if (row.name == "nodes") settings.add(*find_setting("network"), "ethernet-10g");
      if (row.name == "offload") {  // of weights where they are gathered
        settings.add(*find_setting("zero"), "3");
        settings.add(*find_setting("gpus"), "2");
      }
      if (row.name != "batch") settings.add(row, text);
      Request request = *to_request(settings);
      JsonWriter out;
      out.begin_object();
      out.key("kind").string("memory").key("records").begin_array().begin_object();
      out.key("device").string(request.devices.front());
      out.key("model").string(request.model);
      write_settings(out, request);
      out.end_object().end_array().end_object();
      const std::string record = out.take() + "\n";
      CAPTURE(record);
      CHECK(settings_without_key(request).empty());
      std::vector<MeasuredRun> runs;
      const auto bytes = std::as_bytes(std::span(record));
      const auto source = ByteSource::of("run.json", {bytes.begin(), bytes.end()});
      const auto read =
          read_measured(source, [&](MeasuredRun&& run) { runs.push_back(std::move(run)); });
      const std::string fault = read ? "" : read.error().front().message;
      CHECK(fault == "");
      REQUIRE(runs.size() == 1);
      const auto again = request_of(runs.front(), {});
      REQUIRE(again);
      request.given.clear();
      // A record's card says what joins it.
      if (request.gpu_count > 1 && row.name != "link") request.link = again->link;
      CHECK(*again == request);
    }
  }
}

TEST_CASE("settings without a key are told, entries by their names") {
  GivenSettings settings;
  settings.add(*find_setting("workspace-limit"), "64MiB");
  settings.add(*find_setting("dim"), "heads=4");
  settings.add(*find_setting("dim"), "sequence=16");
  settings.add(*find_setting("set"), "width=2");
  settings.add(*find_setting("mem"), "4GiB");  // no fact of a run
  CHECK(settings_without_key(*to_request(settings)) ==
        std::vector<std::string>{"dim heads", "set width", "workspace-limit"});
}

TEST_CASE("records refuse words that no command line takes, and take all that it takes") {
  MeasuredRun run;
  run.device = "tesla-t4";
  run.model = "deep-speech-2";
  run.batch = 8;
  for (const std::string& word : find_setting("loss")->value.words()) {
    run.loss = word;
    const auto request = request_of(run, {});
    REQUIRE(request);
    CHECK(name(request->recipe.loss) == word);
  }
  run.loss = "triplet";
  CHECK(request_of(run, {}).error() == "loss 'triplet' is not known");
}
