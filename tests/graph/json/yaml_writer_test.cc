#include "graph/json/yaml_writer.h"

#include <doctest/doctest.h>

#include "graph/json/reader.h"
#include "graph/json/writer.h"
#include "graph/json/yaml_reader.h"

using namespace plimsoll;

namespace {

std::string as_json(const JsonValue& value) {
  JsonWriter out;
  write_value(out, value);
  return out.take();
}

}  // namespace

TEST_CASE("YAML writer: what it writes reads back as the same value") {
  for (
      const char* text :
      {R"({"a": 1, "b": [1, 2.50, "x"], "c": {"d": {}, "e": []}, "f": null, "g": true})",
       R"({"yes": "no", "1": "1", "": " ", "k: v": "a: b", "t": "true", "u": "\u00e9\n\t\"", "c": "a:"})",
       R"([[1, [2]], {"a": [{"b": 1}, {"c": [3]}]}, "builtin:resnet50", "net-*.w", "../x", "-1"])",
       R"("alone")", "[]", "-3"}) {
    const auto value = read_json(text, "", {});
    REQUIRE(value);
    const std::string yaml = to_yaml(*value);
    CAPTURE(yaml);
    const auto again = read_yaml(yaml, "", {});
    REQUIRE_MESSAGE(again, again.error().front().message);
    CHECK(as_json(*again) == as_json(*value));
  }
}

TEST_CASE("YAML writer: blocks of two spaces, short lists on a line") {
  const auto value = read_json(R"({"a": {"b": [1, "two"], "c": "no"}, "d": [{"e": 1}]})", "", {});
  REQUIRE(value);
  CHECK(to_yaml(*value) == "a:\n  b: [1, two]\n  c: \"no\"\nd:\n  -\n    e: 1\n");
}
