// What ran on real cards (cards/README.md): how far off predictions were, what a machine file made
// of it does to networks that it did not see, and whether cuDNN chooses on a card what it says of
// the same card described.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/calibrate/calibrate_program.h"

using namespace plimsoll::test;
using nlohmann::json;

namespace {

std::string card_file(const std::string& name) {
  return std::string(PLIMSOLL_SOURCE_DIR) + "/tests/calibrate/cards/" + name;
}

std::vector<json> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

// What tells kernels of two runs apart, whatever they took.
std::string kernel_of(json record) {
  for (const char* measured : {"time_ms", "workspace_bytes", "taken", "offers", "skipped"})
    record.erase(measured);
  return record.dump();
}

// Those of `file` that `other` has not, in a file of their own.
std::string unseen(const Scratch& scratch, const std::string& file, const std::string& other) {
  std::set<std::string> seen;
  for (const json& record : lines_of(other)) seen.insert(kernel_of(record));
  std::string text;
  for (const json& record : lines_of(file)) {
    if (!seen.contains(kernel_of(record))) text += record.dump() + "\n";
  }
  scratch.write("unseen.jsonl", text);
  return scratch.path("unseen.jsonl");
}

struct Errors {
  int kernels = 0;
  double mean = 0, inside = 0;
};
Errors errors_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "validate");
  arguments.insert(arguments.end(), {"--allow-skipped", "--json"});
  const Ran ran = run_plimsoll(std::move(arguments));
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  Errors errors;
  const json report = json::parse(ran.out);
  for (const json& line : report["records"]) {
    if (line["quantity"] != "time_ms" || line["error"].is_null()) continue;
    ++errors.kernels;
    errors.mean += std::abs(line["error"].get<double>());
    const double measured = line["measured"];
    errors.inside += line["range"][0] <= measured && measured <= line["range"][1];
  }
  errors.mean /= errors.kernels;
  errors.inside /= errors.kernels;
  return errors;
}

}  // namespace

TEST_CASE("cards: kernels that ran on an H100 and an H200 are near what was predicted") {
  if (skipped()) return;
  const Errors h100 = errors_of({card_file("h100/standard.jsonl")});
  CHECK(h100.kernels == 1790);
  CHECK(h100.mean < .21);
  CHECK(h100.inside > .7);
  // No kernel of an H200 is in any calibration.
  const Errors h200 = errors_of({card_file("h200/standard.jsonl")});
  CHECK(h200.kernels == 1790);
  CHECK(h200.mean < .25);
}

TEST_CASE("cards: pools and layer norms are cuDNN's, not the framework's own that are predicted") {
  if (skipped()) return;
  for (const char* card : {"h100", "h200"}) {
    CAPTURE(card);
    std::map<std::string, int> timed;
    const std::string file = card_file(std::string(card) + "/pools_and_norms.jsonl");
    for (const json& record : lines_of(file)) {
      CHECK(record["time_ms"].get<double>() > 0);
      const std::string algorithm = record["offers"][0]["algorithm"];
      CHECK(algorithm.starts_with(record["op"] == "pool" ? "cudnn_pooling" : "cudnn_layer_norm_"));
      ++timed[record["op"].get<std::string>() + " " + record["pass"].get<std::string>()];
    }
    CHECK(timed == std::map<std::string, int>{{"norm backward", 2},
                                              {"norm forward", 2},
                                              {"pool backward", 28},
                                              {"pool forward", 28}});
    const Errors all = errors_of({file});
    CHECK(all.kernels == 60);
    CHECK(all.mean > .5);  // backward PyTorch's pools are slower than cuDNN's
  }
}

TEST_CASE("cards: attention ran in both passes, masked, with dropout and with shared heads") {
  std::map<std::string, int> timed;
  for (const json& record : lines_of(card_file("h200/attention.jsonl"))) {
    CHECK(record["time_ms"].get<double>() > 0);
    CHECK(record["offers"][0]["algorithm"].get<std::string>().starts_with("cudnn_attention_"));
    std::string kind = record["pass"];
    if (record["masked"].get<bool>()) kind += " masked";
    if (record["dropout"].get<bool>()) kind += " dropout";
    if (record["heads"] != record["kv_heads"]) kind += " shared";
    ++timed[kind];
  }
  CHECK(timed == std::map<std::string, int>{{"backward", 1},
                                            {"backward dropout", 4},
                                            {"backward masked", 2},
                                            {"backward masked dropout", 2},
                                            {"backward shared", 1},
                                            {"forward", 1},
                                            {"forward dropout", 4},
                                            {"forward masked", 2},
                                            {"forward masked dropout", 2},
                                            {"forward shared", 1}});
}

TEST_CASE("cards: a machine file sharpens kernels of networks that it was not made of") {
  if (!has_calibrate()) return;
  const Scratch scratch;
  const std::string machine = scratch.path("machine.json");
  const std::string others =
      unseen(scratch, card_file("h100/networks.jsonl"), card_file("h100/standard.jsonl"));
  REQUIRE(run_calibrate({"fit", card_file("h100/standard.jsonl"), "--out", machine}).status == 0);
  const Errors before = errors_of({others});
  const Errors after = errors_of({others, "--machine", machine});
  CHECK(before.kernels == 1024);
  CHECK(after.kernels == before.kernels);
  CHECK(after.mean < before.mean);
  CHECK(after.inside > before.inside);
}

TEST_CASE("cards: cuDNN chooses on a card what it says of the card described") {
  std::map<std::string, json> asked;
  const auto key = [](const json& record, std::string pass, std::string dtype) {
    const std::map<std::string, std::string> passes = {
        {"fprop", "forward"}, {"dgrad", "backward_data"}, {"wgrad", "backward_weights"}};
    const std::map<std::string, std::string> types = {{"tf32", "fp32"},
                                                      {"fp16_mixed_tensor_core", "fp16"}};
    if (const auto at = passes.find(pass); at != passes.end()) pass = at->second;
    if (const auto at = types.find(dtype); at != types.end()) dtype = at->second;
    std::string text = pass + " " + dtype + " " + record["layout"].get<std::string>();
    for (const char* extent : {"n", "c", "h", "w", "k", "r", "s", "pad_h", "pad_w", "stride_h",
                               "stride_w", "dil_h", "dil_w", "groups"})
      text += " " + record[extent].dump();
    return text;
  };
  for (const json& record : lines_of(card_file("h100/asked.jsonl")))
    asked[key(record, record["pass"], record["dtype"])] = record;
  int both = 0, same_bytes = 0;
  int64_t furthest = 0;
  for (const json& record : lines_of(card_file("h100/standard.jsonl"))) {
    if (record.value("op", "") != "conv" || !record.contains("offers")) continue;
    const auto at = asked.find(key(record, record["pass"], record["dtype"]));
    if (at == asked.end()) continue;
    const json& listed = record["offers"][0];
    CAPTURE(at->first);
    CHECK(listed["engine"] == at->second["engine"]);
    CHECK(listed["knobs"] == at->second["knobs"]);
    const int64_t off = std::abs(listed["workspace_bytes"].get<int64_t>() -
                                 at->second["workspace_bytes"].get<int64_t>());
    ++both;
    same_bytes += off == 0;
    furthest = std::max(furthest, off);
  }
  CHECK(both == 162);
  // A plan for a described card may ask for another workspace, of the same engine and knobs: 67 of
  // them by 0.1 KiB to 16 MiB.
  CHECK(same_bytes == 95);
  CHECK(furthest < int64_t{17} << 20);
}
