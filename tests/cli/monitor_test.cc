// The built plimsoll-monitor, whose path PLIMSOLL_MONITOR says: `./dev test` sets it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "estimator/app/report/schemas.h"
#include "tests/support/run_plimsoll.h"
#include "tests/support/schema_fault.h"

using namespace plimsoll::test;
using nlohmann::json;

namespace {

const char* monitor_binary() { return std::getenv("PLIMSOLL_MONITOR"); }

bool without_monitor() {
  if (monitor_binary() && plimsoll_binary()) return false;
  not_run("PLIMSOLL_MONITOR or PLIMSOLL_BINARY is not set; './dev test' sets them");
  return true;
}

Ran monitor(std::vector<std::string> arguments, RunOptions options = {}) {
  options.environment.emplace_back("PATH=/usr/bin:/bin");
  options.address_space = rlim_t{1} << 31;  // of what is watched, too
  options.program = monitor_binary();
  return run_plimsoll(std::move(arguments), std::move(options));
}

// What follows the last line break but one: a command writes before it.
json last_line(const std::string& out) {
  const size_t end = out.find_last_not_of('\n');
  const size_t begin = out.rfind('\n', end);
  return json::parse(out.substr(begin == out.npos ? 0 : begin + 1));
}

}  // namespace

TEST_CASE("monitor: ends as its command did, with the summary last") {
  if (without_monitor()) return;
  const Ran ran =
      monitor({"--interval", "20ms", "--json", "--", PLIMSOLL_KNOWN_MEMORY, "5", "2000"});
  CHECK(ran.status == 7);
  const json document = last_line(ran.out);
  CHECK(schema_fault(json::parse(plimsoll::schema_text("monitor")), document) == "");
  const json& result = document["result"];
  CHECK(result["exit_status"] == 7);
  CHECK(result["host_peak_bytes"].get<double>() / (300 << 20) == doctest::Approx(1).epsilon(0.01));
  CHECK(result["processes"] == 2);
  const Ran killed = monitor({"--quiet", "--", PLIMSOLL_KNOWN_MEMORY, "0", "50", "killed"});
  CHECK(killed.status == 128 + SIGKILL);
  CHECK(killed.out.empty());
  CHECK(killed.err.find("killed by signal 9") != std::string::npos);
}

// Of a command's whole life the kernel tells the highest, but no less than what its parent held.
TEST_CASE("monitor: a command shorter than an interval has the peak that the kernel tells") {
  if (without_monitor()) return;
  const Ran ran =
      monitor({"--interval", "10s", "--json", "--", PLIMSOLL_KNOWN_MEMORY, "0", "0", "killed"});
  const double peak = last_line(ran.out)["result"]["host_peak_bytes"].get<double>();
  CHECK(peak / (300 << 20) == doctest::Approx(1).epsilon(0.01));
}

TEST_CASE("monitor: the command's output is its own") {
  if (without_monitor()) return;
  const Ran ran = monitor({"--interval", "20ms", "--", "sh", "-c", "echo mine; exit 3"});
  CHECK(ran.status == 3);
  CHECK(ran.out == "mine\n");
}

TEST_CASE("monitor: what cannot be watched is told, and how the command line was meant") {
  if (without_monitor()) return;
  CHECK(monitor({}).status == 2);
  CHECK(monitor({"--"}).status == 2);
  CHECK(monitor({"12", "--", "true"}).status == 2);
  CHECK(monitor({"12x"}).status == 2);
  CHECK(monitor({"4194304"}).status == 4);
  CHECK(monitor({"--interval", "20", "--", "true"}).status == 2);
  CHECK(monitor({"--run", "x.json", "--", "true"}).status == 2);
  CHECK(monitor({"--", "plimsoll-has-no-such-command"}).status == 127);
  CHECK(monitor({"--", "/"}).status == 126);
  const Ran misspelt = monitor({"--intervall", "20ms", "--", "true"});
  CHECK(misspelt.status == 2);
  CHECK(misspelt.err.find("did you mean --interval?") != std::string::npos);
  CHECK(monitor({"--help"}).out.starts_with("  plimsoll-monitor 4711"));
}

TEST_CASE("monitor: a described run is one that validate reads") {
  if (without_monitor()) return;
  const Scratch scratch;
  // A card as it was recorded; its pids are of another time.
  const std::string recording = scratch.write(
      "gpu.jsonl",
      R"({"sample":0,"gpus":[{"name":"Tesla T4","total_bytes":16000000000,"used_bytes":3221225472}]})");
  const std::string run = scratch.path("run.json");
  const Ran ran = monitor({"--model",
                           "builtin:resnet50",
                           "--batch",
                           "16",
                           "--gpu",
                           "tesla-t4",
                           "--workers",
                           "4",
                           "--workspace-limit",
                           "64MiB",
                           "--replay",
                           recording,
                           "--run",
                           run,
                           "--json",
                           "--",
                           PLIMSOLL_KNOWN_MEMORY,
                           "1",
                           "50",
                           "killed"});
  CHECK(ran.status == 128 + SIGKILL);
  const json result = last_line(ran.out)["result"];
  CHECK(result["device_basis"] == "card");
  CHECK(result["device_peak_bytes"] == 3221225472);
  CHECK(result["prediction"]["device"] == "tesla-t4");
  CHECK(result["prediction"]["device_memory"]["range_bytes"][0] > 1 << 30);
  const json written = json::parse(detail::text_of(run));
  CHECK(written["records"][0]["device_used_mb"] == 3072);
  CHECK(written["records"][0]["workers"] == 4);
  REQUIRE(written["records"][0].contains("flags"));
  CHECK(written["records"][0]["flags"][0] == "not_in_this_form: --workspace-limit");
  const Ran validated = run_plimsoll({"validate", run, "--json", "--allow-skipped"});
  CHECK(validated.status == 0);
  const json answer = json::parse(validated.out);
  bool compared = false;
  for (const json& record : answer["records"]) {
    if (record["quantity"] != "device_used_mb") continue;
    compared = record["predicted"].is_number() && record["measured"] == 3072;
  }
  CHECK(compared);
}
