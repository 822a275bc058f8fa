// compare on two results that were written before: what was asked differently, which figures
// differ, and which part of the memory makes the difference.
#include <doctest/doctest.h>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {
namespace {

std::string result_of(const Scratch& scratch, const std::string& name,
                      const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {"estimate", "builtin:squeezenet1_0", "--gpu", "l4",
                                        "--json"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  return scratch.write(name, run_plimsoll(arguments).out);
}

}  // namespace

TEST_CASE("cli: compare says what differs between two results, and what makes it") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string before = result_of(scratch, "before.json", {"--batch", "32"});
  const std::string after = result_of(scratch, "after.json", {"--batch", "64"});
  const Ran ran = run_plimsoll({"compare", before, after});
  CHECK(ran.status == 0);
  CHECK(says(ran.out, "asked: batch 32 -> 64\n"));
  CHECK(says(ran.out, "peak on the card"));
  CHECK(says(ran.out, "more on the card, "));
  CHECK(says(ran.out, " of it feature_map\n"));
  CHECK(!says(ran.out, "parameters"));  // as many
  const Ran csv = run_plimsoll({"compare", before, after, "--csv"});
  CHECK(csv.out.starts_with("figure,before,after,change\nresult.memory.device_bytes,"));
  CHECK(run_plimsoll({"compare", before, before}).out == "no figure differs\n");
}

TEST_CASE("cli: compare reads the page that estimate --html writes") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string page = scratch.path("r.html");
  CHECK(run_plimsoll({"estimate", "builtin:squeezenet1_0", "--gpu", "l4", "--batch", "32", "--html",
                      page, "--quiet"})
            .status == 0);
  const std::string after =
      result_of(scratch, "after.json", {"--batch", "32", "--optimizer", "adam"});
  const Ran ran = run_plimsoll({"compare", page, after});
  CHECK(ran.status == 0);
  CHECK(says(ran.out, "optimizer state"));
  CHECK(!says(ran.out, "kept for backward"));
}

TEST_CASE("cli: what is no result is refused beside one") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string one = result_of(scratch, "one.json", {});
  const std::string config = std::string(PLIMSOLL_SOURCE_DIR) + "/examples/perceptron.json";
  const Ran ran = run_plimsoll({"compare", one, config});
  CHECK(ran.status == 2);
  CHECK(says(ran, "perceptron.json is no result"));
  CHECK(run_plimsoll({"compare", one, scratch.path("none.json")}).status == 4);
  CHECK(run_plimsoll({"compare", one, scratch.write("bad.json", "{")}).status == 3);
}

}  // namespace plimsoll::test
