// What a file leaves to its data is said on the command line: --branch and --contents, by every
// verb. The files are those of tests/oracles/wild_models.py.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "graph/base/embedded.h"
#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;
using nlohmann::json;

namespace {

std::string wild(const Scratch& scratch, const std::string& name) {
  const std::string packed =
      detail::text_of(std::string(PLIMSOLL_SOURCE_DIR) + "/tests/golden/wild/" + name + ".onnx.gz");
  return scratch.write(name + ".onnx", plimsoll::gunzip(packed, size_t{1} << 24).value());
}

Ran estimate(const std::string& model, std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"estimate", model, "--gpu", "tesla-t4", "--json"});
  return run_plimsoll(flags);
}

int64_t parameters(const Ran& ran) {
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out)["result"]["memory"]["parameters"]["count"].get<int64_t>();
}

}  // namespace

TEST_CASE("cli: --branch takes the branch whose condition is data") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string file = wild(scratch, "branch_on_data");
  constexpr int64_t kThen = 24 * 8 + 8, kElse = 24 * 48 + 48 + 48 * 8 + 8;
  CHECK(parameters(estimate(file, {"--batch", "4", "--branch", "gate=then"})) == kThen);
  CHECK(parameters(estimate(file, {"--batch", "4", "--branch", "gate=else"})) == kElse);
  const Ran guessed = estimate(file, {"--batch", "4"});
  CHECK(parameters(guessed) == kElse);
  CHECK(says(guessed, "for the other give --branch gate=then"));
  CHECK(estimate(file, {"--batch", "4", "--strict"}).status == 3);
  CHECK(estimate(file, {"--batch", "4", "--strict", "--branch", "gate=else"}).status == 0);
  const Ran misspelt = estimate(file, {"--batch", "4", "--branch", "gaet=else"});
  CHECK(misspelt.status == 3);
  CHECK(says(misspelt, "did you mean gate?"));
  const Ran third = estimate(file, {"--batch", "4", "--branch", "gate=both"});
  CHECK(third.status == 2);
  CHECK(says(third, "takes one of then, else"));
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"max-batch", "--max", "8"}, {"compare"}}) {
    std::vector<std::string> asked = verb;
    asked.insert(asked.end(), {file, "--gpu", "tesla-t4", "--branch", "gate=then", "--strict"});
    if (verb.front() == "compare") asked.insert(asked.end(), {"--batch", "4"});
    CAPTURE(verb.front());
    CHECK(run_plimsoll(asked).status == 0);
  }
}

TEST_CASE("cli: --contents routes tokens to experts") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string file = wild(scratch, "routed_experts");
  const Ran open = estimate(file, {});
  CHECK(open.status == 3);
  // The help is a flag to paste, whose name is the tensor's.
  const size_t at = open.err.find("--contents ");
  REQUIRE(at != open.err.npos);
  const std::string tensor = open.err.substr(at + 11, open.err.find('=', at) - at - 11);
  const auto routed = [&](const std::string& counts) {
    return estimate(file, {"--contents", tensor + "=" + counts});
  };
  constexpr int64_t kExperts = 4 * (64 * 256 + 256 + 256 * 64 + 64) + 64 * 4;
  CHECK(parameters(routed("8,8,8,8")) == kExperts);
  CHECK(parameters(routed("20,4,4,4")) == kExperts);
  const Ran few = routed("16,16");
  CHECK(few.status == 2);
  CHECK(says(few, "found 2 numbers"));
  const Ran wrong_sum = routed("8,8,8,9");
  CHECK(wrong_sum.status == 3);
  const Ran misspelt = estimate(file, {"--contents", tensor + "x=8,8,8,8"});
  CHECK(misspelt.status == 2);
  CHECK(says(misspelt, "did you mean " + tensor + "?"));
  const Ran words = routed("many");
  CHECK(words.status == 2);
  CHECK(says(words, "[E103]"));
  const std::string plan = scratch.write(
      "plan.yaml", "model: routed_experts.onnx\nparameters:\n  optimizer: [sgd, adam]\n");
  const Ran swept =
      run_plimsoll({"sweep", plan, "--gpu", "tesla-t4", "--contents", tensor + "=8,8,8,8"});
  CAPTURE(swept.err);
  CHECK(swept.status == 0);
}

TEST_CASE("cli sweep: freeze and train together choose what is trained") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string plan =
      scratch.write("plan.yaml",
                    "model: builtin:alexnet\nparameters:\n  gpu: l4\n  batch: 8\n  freeze: '*'\n"
                    "  train: ['classifier.6.*', 'classifier.*', '*']\n");
  const Ran ran = run_plimsoll({"sweep", plan, "--json", "--memory-only"});
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  std::vector<int64_t> bytes;
  size_t begin = 0;
  for (size_t end = 0; (end = ran.out.find('\n', begin)) != ran.out.npos; begin = end + 1) {
    const json line = json::parse(ran.out.substr(begin, end - begin));
    if (line.contains("device_bytes")) bytes.push_back(line["device_bytes"].get<int64_t>());
  }
  REQUIRE(bytes.size() == 3);
  CHECK(bytes[0] < bytes[1]);
  CHECK(bytes[1] < bytes[2]);
  const std::string wrong = scratch.write(
      "wrong.yaml", "model: builtin:alexnet\nparameters: {gpu: l4, freeze: 'featurs.*'}\n");
  const Ran refused = run_plimsoll({"sweep", wrong});
  CHECK(refused.status == 1);
  CHECK(refused.out.find("nearest is 'features.") != refused.out.npos);
}
