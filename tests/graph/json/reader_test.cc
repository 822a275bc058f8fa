#include "graph/json/reader.h"

#include <doctest/doctest.h>

#include <string>

#include "graph/base/setting.h"
#include "tests/support/refusal.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

void check(const Refusal& refusal) {
  check_refused(read_json(refusal.text, "c.json"), refusal, "c.json");
}

std::string repeat(const std::string& piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += piece;
  return text;
}

}  // namespace

TEST_CASE("JSON reader: values know their kind and place") {
  const auto root =
      read_json("{\"a\": [1, -2.5e1,\n  true, null], \"b\\\"\": {\"c\": \"\\u00e9\"}}", "f");
  REQUIRE(root);
  const JsonValue* a = root->find("a");
  REQUIRE(a);
  REQUIRE(a->list());
  const JsonValue::List& list = *a->list();
  REQUIRE(list.size() == 4);
  CHECK(list[0].integer() == 1);
  CHECK(list[0].line == 1);
  CHECK(list[0].column == 8);
  CHECK_FALSE(list[1].integer());
  CHECK(list[1].real() == -25.0);
  CHECK(list[1].number()->text == "-2.5e1");
  CHECK(list[2].boolean() == true);
  CHECK(list[2].line == 2);
  CHECK(list[2].column == 3);
  CHECK(list[3].is_null());
  const JsonValue* b = root->find("b\"");
  REQUIRE(b);
  REQUIRE(b->find("c"));
  CHECK(*b->find("c")->string() == "\xC3\xA9");
  CHECK(b->column == 23);
  CHECK_FALSE(root->find("missing"));
}

TEST_CASE("JSON reader: integers are exact and never wrap") {
  const auto root = read_json(
      "[9007199254740993, 9223372036854775807, -9223372036854775808, 9223372036854775808, "
      "18446744073709551616, -0]",
      "f");
  REQUIRE(root);
  const auto& list = *root->list();
  CHECK(list[0].integer() == 9007199254740993);
  CHECK(list[1].integer() == INT64_MAX);
  CHECK(list[2].integer() == INT64_MIN);
  CHECK_FALSE(list[3].integer());
  CHECK(list[3].number()->text == "9223372036854775808");
  CHECK(list[3].number()->whole);
  CHECK_FALSE(list[4].integer());
  CHECK(list[4].number()->text == "18446744073709551616");
  CHECK(list[5].integer() == 0);
}

// Rows B1-B4, B7, B18 of the catalogue of bad inputs.
TEST_CASE("JSON reader: what is not JSON is refused at its place") {
  const Refusal refusals[] = {
      {"{\"a\": 1", "E301", 1, 8},
      {"{\"a\": [1,\n2,]}", "E301", 2, 3},
      {"{\"a\": 1,}", "E301", 1, 9},
      {"{\n// no\n}", "E301", 2, 1},
      {"{'a': 1}", "E301", 1, 2},
      {"[NaN]", "E301", 1, 2},
      {"[Infinity]", "E301", 1, 2},
      {"[012]", "E301", 1, 5},
      {"[+1]", "E301", 1, 2},
      {"[.5]", "E301", 1, 2},
      {"[1.]", "E301", 1, 4},
      {"{\"a\" 1}", "E301", 1, 6},
      {"<html></html>", "E301", 1, 1},
      {"[1e400]", "E312", 1, 2},
      {"", "E331", 1, 1},
      {" \n ", "E331", 1, 1},
      {"\xEF\xBB\xBF", "E331", 1, 1},
      {std::string("\xFF\xFE{\0}\0", 6), "E302", 1, 1},
      {std::string("{\0}\0", 4), "E302", 1, 1},
      {"[\"caf\xE9\"]", "E302", 1, 7},
      {"[\"\\ud800\"]", "E302", 1, 9},
      {"[\"a\tb\"]", "E302", 1, 4},
      {"{\"a\": 1,\n \"b\": 2,\n \"a\": 3}", "E303", 3, 2},
      {"{\"a\": 1}\n{\"a\": 2}", "E305", 2, 1},
      {"[] []", "E305", 1, 4},
  };
  for (const Refusal& refusal : refusals) check(refusal);
}

TEST_CASE("JSON reader: a duplicate names the first, a second value its byte") {
  const auto twice = read_json("{\"b\":0,\n\"a\":1,\n\"a\":2,\"b\":3}", "f");
  REQUIRE_FALSE(twice);
  CHECK(twice.error()[0].message == "key \"a\" given twice, first at line 2");
  const auto second = read_json("{}\n{}", "f");
  REQUIRE_FALSE(second);
  CHECK(second.error()[0].message == "a second value starts at byte 3; a file has one value");
}

TEST_CASE("JSON reader: a byte-order mark is skipped") {
  const auto root = read_json("\xEF\xBB\xBF[1]", "f");
  REQUIRE(root);
  CHECK(root->column == 1);
  CHECK((*root->list())[0].column == 2);
}

// Rows B3, B19, B20.
TEST_CASE("JSON reader: limits name themselves") {
  check({repeat("[", 10'000'000), "E806", 1, 65});
  check({repeat("{\"a\":", 100'000), "E806", 1, 321});
  CHECK(read_json(repeat("[", 64) + repeat("]", 64), "f"));
  Limits limits;
  limits.json = 10;
  CHECK(read_json("[123456789]", "f", limits).error()[0].code == "E815");
  limits = {};
  limits.json_string = 4;
  CHECK(read_json("[\"1234\"]", "f", limits));
  CHECK(read_json("[\"12345\"]", "f", limits).error()[0].code == "E807");
  CHECK(read_json("{\"12345\": 1}", "f", limits).error()[0].code == "E807");
  limits = {};
  limits.json_keys = 2;
  CHECK(read_json("{\"a\":1,\"b\":2}", "f", limits));
  const auto keys = read_json("{\"a\":1,\"b\":2,\"c\":3}", "f", limits);
  REQUIRE_FALSE(keys);
  CHECK(keys.error()[0].code == "E807");
  CHECK(keys.error()[0].help ==
        "if this is meant, raise the limit with " + setting_entry("limit", "json-keys", "N"));
  limits = {};
  limits.json_values = 3;
  CHECK(read_json("[1,2]", "f", limits));
  CHECK(read_json("[1,2,3]", "f", limits).error()[0].code == "E807");
}

TEST_CASE("JSON reader: every truncation of a text is refused") {
  const std::string text = "{\"a\": [1, -2.5e3, true, null, \"x\\u0041\\n\"], \"b\": {\"c\": {}}}";
  REQUIRE(read_json(text, "f"));
  for (size_t length = 0; length < text.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(read_json(text.substr(0, length), "f"));
  }
}

TEST_CASE("JSON reader: every flipped bit ends in a value or an error") {
  const std::string text = "{\"a\": [1, -2.5e3, true], \"b\": \"\xC3\xA9\\n\"}";
  for (size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto result = read_json(flipped, "f");
    if (!result) CHECK(result.error().size() == 1);
  }
}

TEST_CASE("what Python writes for numbers that JSON has not becomes null, outside of strings") {
  CHECK(without_infinities(R"([0.0, Infinity, -Infinity, NaN, 1])") ==
        "[0.0, null, null, null, 1]");
  const std::string_view text = R"({"Infinity": "NaN \" Infinity", "a": "\\"})";
  CHECK(without_infinities(text) == text);
  CHECK(without_infinities("\"open\\").size() == 6);
}
