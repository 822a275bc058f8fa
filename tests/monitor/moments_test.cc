#include "monitor/moments.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "monitor/attribution.h"
#include "tests/support/samples.h"

using namespace plimsoll::monitor;
using plimsoll::test::card;
using plimsoll::test::host_sample;
using plimsoll::test::kMebibyte;

TEST_CASE("moments: few samples are each a moment") {
  Moments moments;
  for (int i = 0; i < 10; ++i) moments.take(host_sample(i, 100 + i, 0.5));
  REQUIRE(moments.all().size() == 10);
  CHECK(moments.samples_each() == 1);
  CHECK(moments.all()[3].seconds == 3);
  CHECK(moments.all()[3].host == 103 * kMebibyte);
}

TEST_CASE("moments: of many samples no peak is lost, loads are means, and nothing grows") {
  constexpr int kSamples = 100'000;
  Moments moments(600);
  double load = 0;
  for (int i = 0; i < kSamples; ++i) {
    plimsoll::monitor::Sample sample = host_sample(0.1 * i, i == 54'321 ? 900 : 100, i % 4);
    plimsoll::GpuReading gpu = card(40, (i == 77'777 ? 700 : 300) * kMebibyte);
    gpu.utilisation = i % 2;
    gpu.sm_clock_hz = i == 5 ? 300 : 1500;
    attribute({.gpus = {gpu}}, true, sample);
    load += sample.cpu_share;
    moments.take(sample);
    REQUIRE(moments.all().size() <= 61);
  }
  CHECK(moments.all().size() > 25);
  int64_t samples = 0, host = 0, device = 0, clock = 1500;
  double shares = 0, busy = 0;
  for (const Moment& m : moments.all()) {
    samples += m.samples;
    host = std::max(host, m.host);
    device = std::max(device, m.devices.at(0).bytes.value());
    clock = std::min(clock, m.devices.at(0).sm_clock_hz.value());
    shares += m.cpu_share * static_cast<double>(m.samples);
    busy += m.devices.at(0).utilisation.value() * static_cast<double>(m.samples);
    CHECK(m.samples <= moments.samples_each());
  }
  CHECK(samples == kSamples);
  CHECK(host == 900 * kMebibyte);
  CHECK(device == 700 * kMebibyte);
  CHECK(clock == 300);
  CHECK(shares == doctest::Approx(load));
  CHECK(busy == doctest::Approx(kSamples / 2));
  // Where it was: within the moment of that sample.
  const auto at = std::ranges::find(moments.all(), 900 * kMebibyte, &Moment::host);
  CHECK(at->seconds <= 5432.1);
  CHECK(at->seconds + 0.1 * static_cast<double>(moments.samples_each()) > 5432.1);
}

TEST_CASE("moments: once the whole card alone is told, nothing of the process stands beside it") {
  Moments moments;
  plimsoll::monitor::Sample of_process = host_sample(0, 1), of_card = host_sample(1, 1);
  attribute({.gpus = {card(40, 5)}}, true, of_process);
  attribute({.gpus = {card(40, 5)}}, false, of_card);
  moments.take(of_process);
  CHECK(moments.all()[0].devices[0].bytes == 5);
  moments.take(of_card);
  CHECK(moments.all()[0].devices[0].bytes == std::nullopt);
  CHECK(moments.all()[1].devices[0].bytes == int64_t{3} << 30);
}
