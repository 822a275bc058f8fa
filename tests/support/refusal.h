// A text that a reader refuses, and where it says so.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "graph/base/diagnostic.h"

namespace plimsoll::test {

struct Refusal {
  std::string text;
  std::string code;
  int line;
  int column;
};

// `result`: what the reader made of its text, given as a file of that name.
template <class T>
void check_refused(const Result<T>& result, const Refusal& refusal, const std::string& file) {
  CAPTURE(refusal.text.substr(0, 60));
  REQUIRE_FALSE(result);
  REQUIRE(result.error().size() == 1);
  const Diagnostic& fault = result.error().front();
  CAPTURE(fault.message);
  CHECK(fault.code == refusal.code);
  CHECK(fault.place.file == file);
  CHECK(fault.place.line == refusal.line);
  CHECK(fault.place.column == refusal.column);
}

}  // namespace plimsoll::test
