#include "graph/base/try.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>

namespace plimsoll {
namespace {

Result<std::unique_ptr<int>> made(int number) {
  if (number < 0) return error("E101", "negative");
  return std::make_unique<int>(number);
}

Result<void> check_even(int number) {
  if (number % 2 != 0) return error("E102", "odd");
  return {};
}

Result<std::string> text_of(int number, int& calls) {
  const auto value = TRY(made(number));  // taken by move: it cannot be copied
  TRY(check_even(*value));
  ++calls;
  return std::to_string(*value);
}

Result<std::string> copied(const Result<std::string>& kept) { return TRY(kept) + "!"; }

}  // namespace

TEST_CASE("TRY: the value, or the error of whoever failed first") {
  int calls = 0;
  CHECK(text_of(4, calls).value() == "4");
  CHECK(text_of(-1, calls).error().front().code == "E101");
  CHECK(text_of(3, calls).error().front().code == "E102");
  CHECK(calls == 1);
}

TEST_CASE("TRY: a result that others hold stays theirs") {
  const Result<std::string> kept = "kept";
  CHECK(copied(kept).value() == "kept!");
  CHECK(kept.value() == "kept");
}

}  // namespace plimsoll
