// How well cuDNN's plans are guessed for networks that the rule has not seen: the trees of five
// folds over networks, trained without any layer of the networks asked here
// (tests/oracles/train_workspace_rule.py --folds), against cuDNN's own answers in the table.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "estimator/library/workspace/rule.h"
#include "estimator/library/workspace/tables.h"
#include "graph/json/reader.h"
#include "hwdb/hwdb.h"
#include "tests/support/mebibyte.h"

using namespace plimsoll;

namespace {

constexpr Pass kAllPasses[] = {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights};
using test::kMiB;

ConvProblem<int64_t> problem(const JsonValue& layer) {
  std::vector<int64_t> v;
  for (const JsonValue& number : *layer.list()) v.push_back(*number.integer());
  REQUIRE(v.size() == 13);
  ConvProblem<int64_t> c{.c = v[0],
                         .k = v[3],
                         .groups = v[12],
                         .in = {1, v[1], v[2]},
                         .filter = {1, v[4], v[5]},
                         .pad = {0, v[6], v[7]},
                         .stride = {1, v[8], v[9]},
                         .dilation = {1, v[10], v[11]}};
  for (size_t i = 1; i < 3; ++i) {
    c.out[i] = (c.in[i] + 2 * c.pad[i] - c.dilation[i] * (c.filter[i] - 1) - 1) / c.stride[i] + 1;
  }
  return c;
}

struct Share {
  int equal = 0, close = 0, count = 0;
  void add(int64_t guessed, int64_t known) {
    const int64_t off = std::abs(guessed - known);
    equal += off < 512;
    close += off <= std::max<int64_t>(64 << 10, known / 100);
    ++count;
  }
  double of(int part) const { return 100.0 * part / count; }
};

}  // namespace

TEST_CASE("workspace rule: five folds over networks, no layer shared") {
  WorkspacePolicy plain{.rule = ScratchRule::kLibrary};
  plain.tensor_cores = false;
  const WorkspaceTables table = *WorkspaceTables::load(Hwdb(), {.capability = 61});
  std::map<Pass, Share> shares;
  std::vector<std::string> missed;
  int networks = 0;
  std::ifstream file(std::filesystem::path(PLIMSOLL_SOURCE_DIR) /
                     "tests/golden/workspaces/folds-sm61.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto rule = WorkspaceRule::read(line, "fold");
    REQUIRE(rule.has_value());
    const auto fold = read_json(line, "fold");
    for (const JsonMember& network : *fold->find("networks")->members()) {
      int64_t guessed_most = 0, known_most = 0;
      for (const JsonValue& layer : *network.value.list()) {
        ConvProblem<int64_t> c = problem(layer);
        for (const int64_t batch : {8, 32, 64, 128}) {
          c.n = batch;
          const auto shape = *conv_shape(c);
          for (const Pass pass : kAllPasses) {
            const auto known = table.choose(c, pass, plain);
            REQUIRE(known->basis == WorkspaceBasis::kTable);
            const auto guess = rule->plain(shape, pass);
            REQUIRE(guess.has_value());
            const auto bytes = workspace_bytes(guess->form, pass, shape, DType::kFloat32);
            REQUIRE(bytes.has_value());
            shares[pass].add(*bytes, known->plan.bytes);
            if (batch != 32) continue;
            guessed_most = std::max(guessed_most, *bytes);
            known_most = std::max(known_most, known->plan.bytes);
          }
        }
      }
      if (std::abs(guessed_most - known_most) > 4 * kMiB) missed.push_back(network.key);
      ++networks;
    }
  }
  CHECK(networks == 62);
  for (const Pass pass : kAllPasses) {
    const Share& share = shares[pass];
    CAPTURE(name(pass));
    CAPTURE(share.of(share.equal));
    CAPTURE(share.of(share.close));
    CHECK(share.of(share.equal) >= (pass == Pass::kBackwardWeights ? 85 : 95));
    CHECK(share.of(share.close) >= 98);
  }
  for (const std::string& name : missed) FAIL_CHECK("largest workspace missed: ", name);
}
