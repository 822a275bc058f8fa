// --gpu cpu: what a run on the host itself takes of memory. Of time nothing is known, and of what
// is not known nothing is said as 0.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/run_plimsoll.h"
#include "tests/support/schema_fault.h"

using namespace plimsoll::test;

namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

const Words kOnHost = {"estimate", "builtin:resnet50", "--batch", "8", "--gpu", "cpu"};

Words and_also(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

json answer(const Words& words, int status = 0) {
  const Ran ran = run_plimsoll(and_also(words, {"--json"}));
  CAPTURE(ran.err);
  REQUIRE(ran.status == status);
  return json::parse(ran.out);
}

bool tells(const json& answer, const std::string& code) {
  for (const json& d : answer["diagnostics"])
    if (d["code"] == code) return true;
  return false;
}

}  // namespace

TEST_CASE("cli: a run on the host has the memory of its tensors and process, and no time") {
  if (skipped()) return;
  const json host = answer(and_also(kOnHost, {"--mem", "64GiB"}));
  const json card = answer({"estimate", "builtin:resnet50", "--batch", "8", "--gpu", "v100"});
  const json schema = json::parse(run_plimsoll({"schema", "estimate"}).out);
  CHECK(schema_fault(schema, host) == "");
  const json &result = host["result"], &memory = result["memory"];
  for (const char* part :
       {"parameters", "buffers_bytes", "gradients_bytes", "optimizer_state_bytes", "inputs_bytes"})
    CHECK(memory[part] == card["result"]["memory"][part]);
  // The same tensors, in blocks of 64 bytes and without the card's library buffers.
  CHECK(memory["saved_bytes"] <= card["result"]["memory"]["saved_bytes"]);
  const int64_t live = memory["live_peak_bytes"], reserved = memory["reserved_bytes"];
  CHECK(reserved >= live);
  CHECK(reserved < live + (1 << 20));
  const int64_t process = memory["context_bytes"];
  CHECK(process == int64_t{2500} << 20);  // hwdb/frameworks/pytorch-2.json, host_base
  CHECK(memory["device_bytes"] == process + reserved);
  CHECK(memory["host_bytes"] == memory["device_bytes"]);
  CHECK(memory["device_range_bytes"][0] < memory["device_bytes"].get<int64_t>() - process / 2);
  CHECK(result["device"]["memory_bytes"] == int64_t{64} << 30);
  CHECK(result["verdict"] == "fits");
  CHECK(result["time"].is_null());
  CHECK(memory["workspace_bytes"].is_null());
  CHECK(result["metrics"]["throughput"]["value"].is_null());
  for (const json& layer : result["layers"]) CHECK(layer["forward_ns"].is_null());
  CHECK(tells(host, "N528"));
  CHECK_FALSE(tells(host, "N529"));
  const json small = answer(and_also(kOnHost, {"--mem", "1GiB"}), 1);
  CHECK(small["result"]["fits"] == false);
  const Ran text = run_plimsoll(and_also(kOnHost, {"--mem", "64GiB", "--layers", "--metrics"}));
  CHECK(text.out.starts_with("FITS"));
  CHECK_FALSE(says(text.out, "Step: "));
  CHECK_FALSE(says(text.out, "0 ns"));
}

TEST_CASE("cli: a host whose memory is not known gives no verdict; one whose file tells it does") {
  if (skipped()) return;
  const json unknown = answer(kOnHost);
  CHECK(unknown["result"]["fits"].is_null());
  CHECK(unknown["result"]["verdict"].is_null());
  CHECK(unknown["result"]["device"]["memory_bytes"].is_null());
  CHECK(tells(unknown, "N529"));
  CHECK(schema_fault(json::parse(run_plimsoll({"schema", "estimate"}).out), unknown) == "");
  CHECK(says(run_plimsoll(kOnHost).out, "NOT JUDGED"));
  const json known = answer(and_also(kOnHost, {"--host", "dgx-1"}));
  CHECK(known["result"]["device"]["memory_bytes"] == int64_t{512} << 30);
  CHECK(known["result"]["verdict"] == "fits");
  // What Caffe's process takes beside tensors no source tells.
  const json caffe = answer(and_also(kOnHost, {"--framework", "caffe", "--mem", "64GiB"}));
  CHECK(caffe["result"]["memory"]["host_bytes"].is_null());
  CHECK(caffe["result"]["memory"]["context_bytes"].is_null());
  CHECK(caffe["result"]["memory"]["device_bytes"] > 0);
  CHECK(caffe["result"]["verdict"].is_null());
  CHECK(tells(caffe, "N519"));
}

TEST_CASE("cli: a data set in memory and loaders are part of a run on the host") {
  if (skipped()) return;
  const json plain = answer(kOnHost);
  const json loaded = answer(and_also(kOnHost, {"--samples-in-memory", "10000", "--workers", "2"}));
  const auto bytes = [](const json& a) {
    return a["result"]["memory"]["device_bytes"].get<int64_t>();
  };
  // Two copies of the images and their labels (Torres et al. 2021), and two workers.
  CHECK(bytes(loaded) - bytes(plain) > int64_t{2} * 10000 * 4 * 3 * 224 * 224);
}

TEST_CASE("cli: what a run on the host has no answer to is refused by its name") {
  if (skipped()) return;
  const std::vector<Words> refused = {
      and_also(kOnHost, {"--workspace-limit", "1GiB"}),
      and_also(kOnHost, {"--cudnn", "9.1"}),
      and_also(kOnHost, {"--gpus", "2"}),
      and_also(kOnHost, {"--gpus", "1..2"}),
      and_also(kOnHost, {"--workspace-limit", "sweep"}),
      and_also(kOnHost, {"--kernels"}),
      and_also(kOnHost, {"--html", "page.html"}),
      {"max-batch", "builtin:resnet50", "--gpu", "cpu"},
      {"compare", "builtin:resnet50", "--gpu", "cpu", "--gpu", "v100"},
      {"explain", "conv1", "builtin:resnet50", "--gpu", "cpu"},
  };
  for (const Words& words : refused) {
    const Ran ran = run_plimsoll(words, {.folder = Scratch().path("")});
    CAPTURE(words.back());
    CAPTURE(ran.err);
    CHECK(ran.status == 2);
    CHECK(says(ran, "[E116]"));
    CHECK(says(ran, "--gpu cpu"));
  }
  CHECK(says(run_plimsoll({"gpus"}).out, "cpu"));
}
