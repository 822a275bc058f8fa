#include "estimator/app/sweep/constraint.h"

#include <doctest/doctest.h>

using namespace plimsoll;

namespace {

using Kind = Constraint::Kind;

const std::vector<Constraint::Parameter> kNamed = {{"batch", Kind::kNumber},
                                                   {"gpu", Kind::kText},
                                                   {"compile", Kind::kTruth},
                                                   {"optimizer.lr", Kind::kNumber},
                                                   {"odd", Kind::kNumber, true}};

JsonValue real(double number) { return {0, 0, JsonNumber{"", number, false}}; }

bool holds(std::string_view text) {
  const std::vector<JsonValue> values = {
      real(64), {0, 0, std::string("t4")}, {0, 0, true}, real(0.5), real(1)};
  const auto constraint = Constraint::read(text, kNamed);
  REQUIRE_MESSAGE(constraint, text << ": " << constraint.error());
  return constraint->holds([&](size_t i) -> const JsonValue& { return values[i]; });
}

std::string why_not(std::string_view text) {
  const auto constraint = Constraint::read(text, kNamed);
  REQUIRE_FALSE_MESSAGE(constraint, text);
  return constraint.error();
}

}  // namespace

TEST_CASE("constraint: conditions on numbers, words and switches") {
  for (const char* yes : {"batch == 64",
                          "batch<=64",
                          "64 >= batch",
                          "batch != 63",
                          "batch * 2 - 1 > 126",
                          "batch / 3 > 21.3",
                          "batch % 10 == 4",
                          "-batch < 0",
                          "gpu == 't4'",
                          R"(gpu != "l4")",
                          "compile",
                          "not compile or batch > 3",
                          "compile == true",
                          "optimizer.lr < 1",
                          "batch < 1 or gpu == 't4' and compile",
                          "(batch < 1 or gpu == 't4') and compile",
                          "2 + 3 * 4 == 14",
                          "10 - 3 - 2 == 5",
                          "not (batch < 64)",
                          "not not compile"}) {
    CAPTURE(std::string(yes));
    CHECK(holds(yes));
  }
  for (const char* no : {"batch < 64", "gpu == 'T4'", "not compile", "compile == false",
                         "compile and batch > 64", "batch > 64 or gpu != 't4'", "5 == 5.5"}) {
    CAPTURE(std::string(no));
    CHECK_FALSE(holds(no));
  }
}

TEST_CASE("constraint: what is none, and why") {
  const std::pair<std::string, const char*> rows[] = {
      {"bach <= 64", "did you mean batch?"},
      {"gpu == t4", "t4 is not a parameter"},
      {"batch", "not a condition"},
      {"batch < gpu", "a number is compared"},
      {"gpu < 'x'", "text has no order"},
      {"gpu + 1 == 2", "+ takes numbers"},
      {"batch and compile", "and takes conditions"},
      {"-gpu == 1", "- takes numbers"},
      {"batch < 64 64", "'64' is not understood"},
      {"(batch < 64", "its end found where ) is expected"},
      {"batch <", "its end comes too early"},
      {"gpu == 't4", "is not closed"},
      {"batch == 6x", "is no number"},
      {"batch ! 6", "is not understood"},
      {"odd == 1", "numbers and words"},
      {"", "its end comes too early"},
      {std::string(1000, '(') + "1", "nested too deep"},
      {std::string(1000, '-') + "1 < 1", "nested too deep"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.first);
    CHECK(why_not(row.first).find(row.second) != std::string::npos);
  }
  std::string nots;
  for (int i = 0; i < 1000; ++i) nots += "not ";
  CHECK(why_not(nots + "compile").find("nested too deep") != std::string::npos);
}
