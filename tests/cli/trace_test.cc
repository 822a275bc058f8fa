#include <doctest/doctest.h>

#include <string>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

// Row G2 of the catalogue of bad inputs.
TEST_CASE("cli: a trace is not written over a file unless told to") {
  if (!plimsoll_binary()) return;
  const Scratch scratch;
  const std::string path = scratch.write("trace.json", "mine");
  std::vector<std::string> arguments = {"estimate", "builtin:alexnet", "--gpu",
                                        "l4",       "--trace",         path};
  const Ran refused = run_plimsoll(arguments);
  CHECK(refused.status == 4);
  CHECK(refused.err.find("[E610]") != std::string::npos);
  CHECK(detail::text_of(path) == "mine");
  arguments.emplace_back("--force");
  CHECK(run_plimsoll(arguments).status == 0);
  CHECK(detail::text_of(path).starts_with("{"));
}
