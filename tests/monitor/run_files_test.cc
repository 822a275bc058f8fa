#include "monitor/run_files.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "monitor/attribution.h"
#include "tests/support/samples.h"
#include "tests/support/scratch.h"

using namespace plimsoll::monitor;
using nlohmann::json;
using plimsoll::test::card;
using plimsoll::test::host_sample;
using plimsoll::test::Scratch;

namespace {

std::string content_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

RunFileNames names_in(const Scratch& scratch) {
  return {.lines = scratch.path("run.jsonl"),
          .csv = scratch.path("run.csv"),
          .trace = scratch.path("run.trace")};
}

void write_run(RunFiles& files) {
  const Summary so_far;
  CHECK(
      files.begin({.pid = 40, .command = "train"}, Band{.device = Predicted{10, {5, 20}}}).empty());
  plimsoll::monitor::Phase first{.kind = PhaseKind::kGrowing, .end = 1};
  for (int i = 0; i < 3; ++i) {
    Sample sample = host_sample(i, 100);
    sample.number = i;
    attribute({.gpus = {card(40, 5)}}, true, sample);
    CHECK(files
              .add({.sample = sample,
                    .so_far = so_far,
                    .ended_phase = i == 1 ? &first : nullptr,
                    .crossings = i == 2 ? std::vector{BandWatch::Crossing{.to = BandPlace::kAbove,
                                                                          .bytes = 21}}
                                        : std::vector<BandWatch::Crossing>()})
              .empty());
  }
  Summary summary;
  summary.phases = {first, {.kind = PhaseKind::kSteady, .begin = 1, .end = 2}};
  CHECK(files.end(summary).empty());
}

}  // namespace

TEST_CASE("a run is written as lines, as a table and as a trace") {
  const Scratch scratch;
  auto files = RunFiles::open(names_in(scratch));
  REQUIRE(files);
  write_run(*files);

  const auto lines = lines_of(content_of(scratch.path("run.jsonl")));
  REQUIRE(lines.size() == 8);  // title, three samples, two phases, a crossing, the summary
  for (const std::string& line : lines) CHECK(json::accept(line));
  CHECK(json::parse(lines[0])["predicted_device_bytes"] == json::array({5, 20}));
  CHECK(json::parse(lines[1])["gpus"][0]["bytes"] == 5);
  CHECK(json::parse(lines[3])["phase"] == "growing");
  CHECK(json::parse(lines[5])["prediction"] == "above");
  CHECK(json::parse(lines[7])["schema"] == "plimsoll.monitor");

  const auto rows = lines_of(content_of(scratch.path("run.csv")));
  REQUIRE(rows.size() == 4);
  const auto commas = [](const std::string& row) {
    return std::count(row.begin(), row.end(), ',');
  };
  for (const std::string& row : rows) CHECK(commas(row) == commas(rows[0]));
  CHECK(rows[0].find(",gpu0_power_watts,") != std::string::npos);
  CHECK(rows[1].find(",69.5,") != std::string::npos);

  const json trace = json::parse(content_of(scratch.path("run.trace")));
  int phases = 0, counters = 0, instants = 0;
  for (const json& event : trace) {
    phases += event["ph"] == "X";
    counters += event["ph"] == "C";
    instants += event["ph"] == "i";
  }
  CHECK(phases == 2);
  CHECK(counters == 3 * 7);  // host memory, CPU, processes; card memory, load, power, clock
  CHECK(instants == 1);
}

TEST_CASE("lines are added to those that are there; table and trace are not written over") {
  const Scratch scratch;
  for (int i = 0; i < 2; ++i) {
    auto files = RunFiles::open({.lines = scratch.path("run.jsonl")});
    REQUIRE(files);
    write_run(*files);
  }
  CHECK(lines_of(content_of(scratch.path("run.jsonl"))).size() == 16);
  scratch.write("run.csv", "mine");
  CHECK(RunFiles::open(names_in(scratch)).error().front().code == "E610");
  RunFileNames forced = names_in(scratch);
  forced.force = true;
  CHECK(RunFiles::open(forced));
  CHECK(content_of(scratch.path("run.csv")).empty());
}

TEST_CASE("a full disk is told once for each file, and the watch goes on") {
  auto files = RunFiles::open({.trace = "/dev/full", .force = true});
  REQUIRE(files);
  CHECK(files->begin({}, {}).front().code == "E612");
  const Summary so_far;
  const Sample sample = host_sample(0, 1);
  CHECK(files->add({.sample = sample, .so_far = so_far}).empty());
}
