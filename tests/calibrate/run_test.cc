// `plimsoll-calibrate run` and `replay` as programs, on a recorded card: the kernels of ResNet-50
// in the recording of a run on an H100 (cards/README.md).
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/calibrate/calibrate_program.h"

using namespace plimsoll::test;
using nlohmann::json;

namespace {

const std::string kH100 =
    std::string(PLIMSOLL_SOURCE_DIR) + "/tests/calibrate/recordings/h100.jsonl";

Ran replay(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"replay",  kH100, "--model", "builtin:resnet50",
                                        "--batch", "32",  "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_calibrate(std::move(arguments));
}

}  // namespace

TEST_CASE("calibrate run: without a GPU it says what is missing, and writes nothing") {
  if (!has_calibrate()) return;
  if (::dlopen("libcuda.so.1", RTLD_LAZY))
    return not_run("this machine has an NVIDIA driver", Lacks::kNeverBrought);
  const Scratch scratch;
  const std::string out = scratch.path("out.jsonl"), record = scratch.path("record.jsonl");
  const Ran ran = run_calibrate(
      {"run", "--model", "builtin:alexnet", "--batch", "4", "--out", out, "--record", record});
  CHECK(ran.status == 4);
  CHECK(ran.out.empty());
  CHECK((says(ran.err, "there is no NVIDIA driver") || says(ran.err, "without the headers")));
  CHECK((says(ran.err, "install") || says(ran.err, "./dev calibrate run")));
  CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') <= 2);  // the message and its help
  CHECK_FALSE(std::filesystem::exists(out));
  CHECK_FALSE(std::filesystem::exists(record));
}

TEST_CASE("calibrate run: a model's kernels on a recorded card, and its records read by others") {
  if (!has_calibrate()) return;
  const Scratch scratch;
  const std::string out = scratch.path("out.jsonl");
  const Ran ran = replay({"--out", out, "--json"});
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  const json report = json::parse(ran.out);
  CHECK(report["result"]["device"] == "h100-sxm-80gb");
  CHECK(report["result"]["batch"] == 32);
  CHECK(report["card"]["driver"] == "580.159.04");
  int timed = 0;
  for (const json& kernel : report["result"]["kernels"]) {
    const bool has_time = !kernel["measured_ns"].is_null();
    timed += has_time ? 1 : 0;
    CHECK(has_time == !kernel.contains("skipped"));
    if (kernel["class"] == "conv") CHECK(kernel["workspace_bytes"].is_number());
    CHECK(kernel["predicted_ns"] > 0);
  }
  CHECK(timed == 141);  // all but the pool backward
  CHECK(report["result"]["compared"] == 141 + 68);
  const json& conv = report["result"]["summary"][0];
  CHECK(conv["class"] == "conv");
  CHECK(conv["n"] == 68);
  CHECK(conv["mape"] < .2);
  CHECK(conv["within_range"] > .9);

  const Ran validated = run_plimsoll({"validate", out, "--allow-skipped"});
  CHECK(validated.status == 0);
  CHECK(says(validated.out, "PASSED 128 compared"));
  CHECK_FALSE(says(validated.err, "did you mean"));
  const Ran fitted = run_calibrate({"fit", out});
  CAPTURE(fitted.err);
  CHECK(fitted.status == 0);
  CHECK(says(fitted.out, "tf32_tensor"));
}

TEST_CASE("calibrate run: gone on with after half a file and a torn line, it is the same file") {
  if (!has_calibrate()) return;
  const Scratch scratch;
  const std::string whole = scratch.path("whole.jsonl"), half = scratch.path("half.jsonl");
  REQUIRE(replay({"--out", whole}).status == 0);
  const std::string text = detail::text_of(whole);
  size_t end = 0;
  for (int i = 0; i < 50; ++i) end = text.find('\n', end) + 1;
  scratch.write("half.jsonl", text.substr(0, end + 30));
  const Ran refused = replay({"--out", whole});
  CHECK(refused.status == 4);
  CHECK(says(refused.err, "[E726]"));
  const Ran resumed = replay({"--out", half, "--resume"});
  CHECK(resumed.status == 0);
  CHECK(says(resumed.err, "a torn last line of 30 bytes"));
  CHECK(detail::text_of(half) == text);
}

TEST_CASE("calibrate run: a page has every kernel's figures and the command") {
  if (!has_calibrate()) return;
  const Scratch scratch;
  const std::string page = scratch.path("page.html");
  REQUIRE(replay({"--tolerance", "time=60%", "--html", page}).status == 0);
  const std::string html = detail::text_of(page);
  CHECK(says(html, "141 compared"));
  CHECK(says(html, "conv backward_weights 32x3x224x224"));
  CHECK(says(html, "plimsoll-calibrate replay"));
  CHECK(says(html, "skipped: the recording has no such kernel"));
  CHECK(replay({"--html", page}).status == 4);  // there is one already
}

TEST_CASE("calibrate run: tolerances decide; slips are told") {
  if (!has_calibrate()) return;
  CHECK(replay({"--tolerance", "time=60%"}).status == 0);
  const Ran tight = replay({"--tolerance", "time=5%"});
  CHECK(tight.status == 1);
  CHECK(says(tight.out, "outside: conv "));
  CHECK(says(tight.out, "FAILED 141 compared"));
  const Ran workspaces = replay({"--tolerance", "workspace=1MiB"});
  CHECK(workspaces.status == 1);
  CHECK(says(workspaces.out, "15.5 MiB predicted, 14.5 MiB measured"));
  CHECK(replay({"--tolerance", "workspace=64MiB"}).status == 0);
  CHECK(replay({"--tolerance", "time=5"}).status == 2);
  CHECK(replay({"--suite", "quick"}).status == 2);
  CHECK(replay({"--resume"}).status == 2);
  CHECK(run_calibrate({"run"}).status == 2);
  CHECK(run_calibrate({"replay", "no such file", "--model", "builtin:alexnet"}).status == 4);
  const Ran help = run_calibrate({"--help"});
  CHECK(says(help.out, "\n  plimsoll-calibrate run --model "));
  CHECK(run_calibrate({"run", "--help"}).out.starts_with("  plimsoll-calibrate run --model "));
}

TEST_CASE("calibrate run: a suite's kernels become a machine file that plimsoll takes") {
  if (!has_calibrate()) return;
  const Scratch scratch;
  const std::string out = scratch.path("out.jsonl"), machine = scratch.path("machine.json");
  const Ran ran =
      run_calibrate({"run", "--replay", kH100, "--suite", "standard", "--quiet", "--out", out});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  const Ran fitted = run_calibrate({"fit", out, "--out", machine});
  CAPTURE(fitted.err);
  CHECK(fitted.status == 0);
  const Ran used =
      run_plimsoll({"estimate", "builtin:resnet50", "--gpu", "h100", "--machine", machine});
  CAPTURE(used.err);
  CHECK(used.status == 0);
}
