#include "estimator/app/sweep/override_text.h"

#include <doctest/doctest.h>

#include "estimator/app/sweep/sweep_plan.h"
#include "estimator/settings/json_texts.h"

using namespace plimsoll;

namespace {

std::string listed(std::string_view text) {
  const auto read = read_override_text(text);
  if (!read) return read.error();
  if (read->kind == OverrideText::Kind::kInterval) return "interval";
  if (read->kind == OverrideText::Kind::kRange)
    return std::to_string(read->low) + ":" + std::to_string(read->high) + ":" +
           std::to_string(read->step);
  std::string words;
  for (const JsonValue& value : read->values)
    words += (value.string() ? "'" : "") + text_of(value) + (value.string() ? "' " : " ");
  return words;
}

}  // namespace

// hydra.cc/docs/advanced/override_grammar/extended: its examples, of words and numbers.
TEST_CASE("override text: choices, ranges, intervals; the rest is refused by name") {
  const std::pair<const char*, const char*> rows[] = {
      {"32", "32 "},
      {" 32, 64 ", "32 64 "},
      {"choice(a,b,c)", "'a' 'b' 'c' "},
      {"choice('a, b', \"c\")", "'a, b' 'c' "},
      {"amp-bf16,fp32", "'amp-bf16' 'fp32' "},
      {"true,False,'true'", "true false 'true' "},
      {"1e-3,0.5", "1e-3 0.5 "},
      {"builtin:resnet50", "'builtin:resnet50' "},
      {"range(5)", "0:5:1"},
      {"range(1, 10)", "1:10:1"},
      {"range(1,10,2)", "1:10:2"},
      {"interval(0, 1.5)", "interval"},
      {"shuffle(1,2)", "shuffle(...) is not supported"},
      {"glob(*)", "glob(...) is not supported"},
      {"sort(3,1)", "sort(...) is not supported"},
      {"choice([1,2],3)", "[1 is not supported"},
      {"${oc.env:X}", "${oc.env:X} is not supported"},
      {"null", "null is not supported"},
      {"range(start=1,stop=3)", "start=1 is not supported"},
      {"range(0,1,0.5)", "a range needs integers, found 0.5"},
      {"'a", "a quote is not closed"},
      {"", "an empty value"},
  };
  for (const auto& row : rows) {
    CAPTURE(std::string(row.first));
    CHECK(listed(row.first) == row.second);
  }
}

TEST_CASE("override text: what is written reads back") {
  for (const char* text : {"32", "choice(a,b)", "choice('a, b','true',true,64,0.5)", "'7'"}) {
    const auto read = read_override_text(text);
    REQUIRE(read);
    CHECK(to_override_text(read->values) == text);
  }
}
