#include "graph/json/object.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "graph/json/reader.h"

using namespace plimsoll;

namespace {

// The faults of decoding `text` with `decode`.
Diagnostics faults_of(const std::string& text, const std::function<void(JsonObject&)>& decode) {
  const auto root = read_json(text, "c.json");
  REQUIRE(root);
  Diagnostics faults;
  JsonObject object(*root, "c.json", faults, true);
  decode(object);
  return faults;
}

Diagnostics batch_faults(const std::string& value) {
  return faults_of("{\"batch_size\": " + value + "}", [](JsonObject& object) {
    object.required_integer("batch_size", {.low = 1, .high = 2147483647});
    object.finish();
  });
}

}  // namespace

TEST_CASE("JSON object: consumes what it knows") {
  const auto root = read_json(
      R"({"name": "x", "units": 7, "rate": 0.5, "bias": false, "pads": [1, 2],
          "names": ["a", "b"], "inner": {"k": 1}, "mode": "train", "list": [1, "a"]})",
      "f");
  REQUIRE(root);
  Diagnostics faults;
  JsonObject object(*root, "f", faults);
  CHECK(object.required_string("name") == "x");
  CHECK(object.required_integer("units", {.low = 1}) == 7);
  CHECK(object.required_real("rate") == 0.5);
  CHECK(object.optional_bool("bias") == false);
  CHECK(object.required_integers("pads") == std::vector<int64_t>{1, 2});
  CHECK(object.required_strings("names") == std::vector<std::string>{"a", "b"});
  CHECK(object.required_choice("mode", {"train", "inference"}) == "train");
  CHECK(object.required_list("list").size() == 2);
  JsonObject inner = object.required_object("inner");
  CHECK(inner.required_integer("k") == 1);
  inner.finish();
  CHECK_FALSE(object.optional_string("absent"));
  CHECK_FALSE(object.optional_object("no_object"));
  object.finish();
  CHECK(faults.empty());
}

// Rows B7 and B8 of the catalogue.
TEST_CASE("JSON object: wrong kinds and ranges") {
  for (const char* value : {"\"64\"", "true", "null", "[64]", "{}", "6.5"}) {
    CAPTURE(value);
    const Diagnostics faults = batch_faults(value);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].code == "E311");
    CHECK(faults[0].place.column == 16);
  }
  for (const char* value :
       {"0", "-1", "2147483648", "9223372036854775808", "18446744073709551616", "-0"}) {
    CAPTURE(value);
    const Diagnostics faults = batch_faults(value);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].code == "E312");
  }
  CHECK(batch_faults("\"64\"")[0].message ==
        "\"batch_size\" must be a whole number, found string \"64\"");
  CHECK(batch_faults("0")[0].message ==
        "\"batch_size\" must be a whole number from 1 to 2147483647, found 0");
  for (const char* value : {"64.0", "6.4e1"}) {
    const Diagnostics faults = batch_faults(value);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].code == "W301");
    CHECK_FALSE(has_error(faults));
  }
}

// Rows B5 and B6.
TEST_CASE("JSON object: unknown and missing keys") {
  const Diagnostics faults = faults_of("{\n  \"batchsize\": 1}", [](JsonObject& object) {
    object.required_integer("batch_size");
    object.finish();
  });
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].code == "E306");
  CHECK(faults[0].help == "for example: \"batch_size\": 1");
  CHECK(faults[1].code == "E304");
  CHECK(faults[1].help == "did you mean \"batch_size\"?");
  CHECK(faults[1].place.line == 2);
  CHECK(faults[1].place.column == 3);
}

// Row B9.
TEST_CASE("JSON object: a choice lists what is allowed, the nearest first") {
  const Diagnostics faults = faults_of("{\"precision\": \"fp17\"}", [](JsonObject& object) {
    object.required_choice("precision", {"fp32", "bf16", "fp16"});
  });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].code == "E313");
  CHECK(faults[0].message == "\"precision\" cannot be \"fp17\"; allowed: fp16, fp32, bf16");
}

// Row B11.
TEST_CASE("JSON object: schema and version") {
  const auto with = [](const std::string& text) {
    return faults_of(text, [](JsonObject& object) {
      object.schema("plimsoll.model", 2);
      object.finish();
    });
  };
  CHECK(with(R"({"schema": "plimsoll.model", "version": 1})").empty());
  CHECK(with(R"({"schema": "plimsoll.model", "version": 3})")[0].code == "E330");
  const Diagnostics other = with(R"({"schema": "other", "plan": [1]})");
  REQUIRE(other.size() == 1);
  CHECK(other[0].code == "E330");
  CHECK(with(R"({"schema": "plimsoll.model"})")[0].code == "E306");
  CHECK(with(R"({})").size() == 2);
}

// Row B12.
TEST_CASE("JSON object: a root that is no object is said once") {
  for (const char* text : {"[]", "\"x\"", "1"}) {
    const Diagnostics faults = faults_of(text, [](JsonObject& object) {
      object.required_string("a");
      object.required_object("b").required_string("c");
      object.finish();
    });
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].code == "E331");
  }
}

TEST_CASE("JSON object: a missing object is not missed key by key") {
  const Diagnostics faults = faults_of("{}", [](JsonObject& object) {
    JsonObject inner = object.required_object("inner");
    inner.required_string("a");
    inner.finish();
  });
  CHECK(faults.size() == 1);
}

TEST_CASE("JSON object: warnings never crowd out an error") {
  std::string text = "{\"list\": [";
  for (int i = 0; i < 1000; ++i) text += "1.0,";
  text += "true]}";
  const Diagnostics faults =
      faults_of(text, [](JsonObject& object) { object.required_integers("list"); });
  CHECK(has_error(faults));
  CHECK(faults.size() == 101);
}

// Row B21: no expansion, ever.
TEST_CASE("JSON object: a placeholder is taken literally") {
  const Diagnostics faults = faults_of("{\"path\": \"${HOME}\"}", [](JsonObject& object) {
    CHECK(object.required_string("path") == "${HOME}");
  });
  CHECK(faults.empty());
}
