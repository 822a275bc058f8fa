#include "graph/json/yaml_reader.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/refusal.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

JsonValue read(const std::string& text) {
  auto value = read_yaml(text, "p.yaml");
  REQUIRE(value);
  return std::move(*value);
}

}  // namespace

TEST_CASE("YAML reader: values know their kind and place") {
  const JsonValue root = read(
      "# a plan\n"
      "batch: [1, 2.5, 010, 1e3]\n"
      "words:\n"
      "  - no\n"
      "  - \"64\"\n"
      "  - 'true'\n"
      "nothing:\n"
      "switch: true\n"
      "64: {a: ~}\n");
  const JsonValue::List& batch = *root.find("batch")->list();
  CHECK(batch[0].integer() == 1);
  CHECK(batch[1].real() == 2.5);
  CHECK(*batch[2].string() == "010");  // no decimal number of JSON's
  CHECK(batch[3].number()->text == "1e3");
  CHECK_FALSE(batch[3].number()->whole);
  CHECK(batch[1].line == 2);
  CHECK(batch[1].column == 12);
  const JsonValue::List& words = *root.find("words")->list();
  CHECK(*words[0].string() == "no");
  CHECK(*words[1].string() == "64");
  CHECK(*words[2].string() == "true");
  CHECK(root.find("nothing")->is_null());
  CHECK(root.find("switch")->boolean() == true);
  CHECK(read("1e-999").real() == 0);
  CHECK(root.find("64")->find("a")->is_null());
}

TEST_CASE("YAML reader: JSON is YAML") {
  const JsonValue root = read(R"({"batch": [64, -0.5], "gpu": "l4", "deep": {"x": null}})");
  CHECK(root.find("batch")->list()->at(1).real() == -0.5);
  CHECK(*root.find("gpu")->string() == "l4");
}

TEST_CASE("YAML reader: what it refuses, and where") {
  for (const Refusal& refusal : {
           Refusal{"a: &x 1\nb: *x\n", "E350", 1, 4},
           Refusal{"a: &x [*x]\n", "E350", 1, 4},
           Refusal{"a: !!int 1\n", "E350", 1, 4},
           Refusal{"a: !mine {b: 1}\n", "E350", 1, 4},
           Refusal{"a: 1\n---\nb: 2\n", "E350", 2, 1},
           Refusal{"? [a, b]\n: 1\n", "E350", 1, 3},
           Refusal{"a: 1\nb: 2\na: 3\n", "E303", 3, 1},
           Refusal{"a:\n\t- 1\n", "E351", 2, 2},
           Refusal{"a: [1, 2\n", "E351", 2, 1},
           Refusal{"a: 1e999\n", "E312", 1, 4},
           Refusal{"a: \xff\n", "E302", 1, 1},
           Refusal{"", "E331", 1, 1},
           Refusal{"# nothing\n", "E331", 1, 1},
       }) {
    check_refused(read_yaml(refusal.text, "p.yaml"), refusal, "p.yaml");
  }
}

TEST_CASE("YAML reader: limits") {
  const auto code = [](const std::string& text, const Limits& limits) {
    const auto value = read_yaml(text, "p.yaml", limits);
    return value ? std::string() : value.error().front().code;
  };
  Limits limits;
  limits.json_depth = 3;
  CHECK(code("[[[1]]]", limits).empty());
  CHECK(code("[[[[1]]]]", limits) == "E806");
  CHECK(code(std::string(100, '[') + std::string(100, ']'), Limits{}) == "E806");
  CHECK_FALSE(code(std::string(100'000, '['), Limits{}).empty());
  limits = {};
  limits.json_values = 4;
  CHECK(code("[1, 2, 3]", limits).empty());
  CHECK(code("[1, 2, 3, 4]", limits) == "E807");
  limits = {};
  limits.json_keys = 1;
  CHECK(code("{a: 1, b: 2}", limits) == "E807");
  limits = {};
  limits.json_string = 3;
  CHECK(code("abc", limits).empty());
  CHECK(code("abcd", limits) == "E807");
  limits = {};
  limits.json = 4;
  CHECK(code("a: 12", limits) == "E815");
}
