#include "monitor/text.h"

#include <doctest/doctest.h>

#include "monitor/attribution.h"
#include "tests/support/samples.h"

using namespace plimsoll::monitor;
using plimsoll::test::card;
using plimsoll::test::host_sample;
using plimsoll::test::kMebibyte;

namespace {

bool has(const std::string& text, std::string_view part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

}  // namespace

TEST_CASE("durations for people") {
  CHECK(human_seconds(12.44) == "12.4 s");
  CHECK(human_seconds(200) == "3 min 20 s");
  CHECK(human_seconds(8040) == "2 h 14 min");
}

TEST_CASE("a line has the prediction beside the figures, and says whose they are") {
  Sample sample = host_sample(12, 1200, 0.96);
  attribute({.gpus = {card(40, 512 * kMebibyte)}}, true, sample);
  const Band band{.device = Predicted{600 * kMebibyte, {500 * kMebibyte, 700 * kMebibyte}}};
  const std::string text = line(sample, band);
  CHECK(has(text, "1.2 GiB"));
  CHECK(has(text, "CPU 96 %"));
  CHECK(has(text, "GPU 0 512.0 MiB, 75 %, 70 W, 1590 MHz"));
  CHECK(has(text, "predicted 600.0 MiB (500.0 MiB - 700.0 MiB)"));
  Sample container = host_sample(12, 1200);
  attribute({.gpus = {card(40, 512 * kMebibyte)}}, false, container);
  CHECK(has(line(container, {}), "GPU 0 3.0 GiB (whole GPU)"));
}

TEST_CASE("the summary says how it ended, where figures are from, and what was not told") {
  Summary s;
  s.command = "train";
  s.ended = true;
  s.exit_status = 137;
  s.gpu_source = "no NVIDIA driver library";
  CHECK(has(to_text(s), "train: killed by signal 9 after 0.0 s"));
  CHECK(has(to_text(s), "gpu    no NVIDIA driver library"));
  CHECK(has(to_text(s), "PSS unknown"));
  s.exit_status = 3;
  CHECK(has(to_text(s), "exit 3"));
  s.basis = DeviceBasis::kCard;
  s.device_peak = 700;
  s.devices = {{.name = "Tesla T4", .bytes = 700}};
  s.band = Band{.device = Predicted{600, {500, 650}}};
  CHECK(has(to_text(s), "the memory of the whole GPU"));
  CHECK(has(to_text(s), "the peak 700 B is above it"));
  s.phases.assign(20, {});
  CHECK(has(to_text(s), "phases, the last 12 of 20"));
}

TEST_CASE("a name that holds control characters is harmless") {
  Summary s;
  s.command = "x\x1b[2J\n::error";
  s.gpu_source = "recorded in \x1b]0;x";
  CHECK(to_text(s).find('\x1b') == std::string::npos);
  CHECK(to_text(s).find("\n::error") == std::string::npos);
}
