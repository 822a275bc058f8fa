#include "hwdb/step_errors.h"

#include <doctest/doctest.h>

using namespace plimsoll;

TEST_CASE("step errors: the database has each term, and none is a shrug") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  const auto errors = open_step_errors(*hwdb);
  REQUIRE_MESSAGE(errors, errors.error().front().message);
  CHECK(errors->step > 0);
  CHECK(errors->step < .5);
  CHECK(errors->all_reduce > 0);
  CHECK(errors->unknown_host > errors->host);
  CHECK(errors->unknown_copy > errors->copy);
  CHECK(errors->files > errors->step);
}

TEST_CASE("step errors: a missing or misspelt term is refused") {
  const auto code = [](const char* text) {
    const auto errors = read_step_errors(text, "e.json");
    return errors ? std::string() : errors.error().front().code;
  };
  CHECK(code(R"({"schema": "plimsoll.step-errors", "version": 1, "source": "s"})") == "E306");
  CHECK(code(R"({"schema": "plimsoll.links", "version": 1})") == "E330");
}
