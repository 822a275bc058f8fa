#include "monitor/phases.h"

#include <doctest/doctest.h>

#include "tests/support/samples.h"

using namespace plimsoll::monitor;
using plimsoll::test::card;
using plimsoll::test::host_sample;
using plimsoll::test::kMebibyte;

TEST_CASE("a run that grows, holds and gives back has three phases") {
  Phases phases(1);
  int ended = 0;
  for (int i = 0; i <= 140; ++i) {
    const double t = 0.1 * i;
    const double mib = t < 4 ? 100 * t : t < 9 ? 400 : std::max(10.0, 400 - 200 * (t - 9));
    ended += phases.take(host_sample(t, static_cast<int64_t>(mib), t < 4 ? 1 : 0.5));
  }
  std::vector<PhaseKind> kinds;
  for (const plimsoll::monitor::Phase& phase : phases.all()) kinds.push_back(phase.kind);
  CHECK(kinds == std::vector{PhaseKind::kGrowing, PhaseKind::kSteady, PhaseKind::kShrinking,
                             PhaseKind::kSteady});
  CHECK(ended == 3);
  const plimsoll::monitor::Phase& held = phases.all()[1];
  CHECK(held.begin == doctest::Approx(4.9).epsilon(0.05));
  CHECK(held.end == doctest::Approx(9.1).epsilon(0.05));
  CHECK(held.host_peak == 400 * kMebibyte);
  CHECK(held.cpu_share == doctest::Approx(0.5));
  for (size_t i = 1; i < phases.all().size(); ++i)
    CHECK(phases.all()[i].begin == phases.all()[i - 1].end);
}

TEST_CASE("noise of less than 2 % is steady, and a phase lasts for the window") {
  Phases phases(1);
  for (int i = 0; i < 100; ++i) phases.take(host_sample(0.1 * i, i % 2 == 0 ? 1000 : 1015));
  CHECK(phases.all().size() == 1);
  Phases jumping(1);
  for (int i = 0; i < 100; ++i) jumping.take(host_sample(0.1 * i, i % 2 == 0 ? 1000 : 500));
  for (const plimsoll::monitor::Phase& phase : jumping.all()) {
    if (&phase != &jumping.all().back()) CHECK(phase.end - phase.begin >= 1 - 1e-9);
  }
}

TEST_CASE("where a card tells, its memory decides") {
  Phases phases(1);
  for (int i = 0; i < 60; ++i) {
    Sample sample = host_sample(0.1 * i, 100);
    sample.devices = {{.gpu = card(40, {}), .bytes = 20 * i * kMebibyte}};
    phases.take(sample);
  }
  CHECK(phases.all().back().kind == PhaseKind::kGrowing);
  CHECK(phases.all().back().device_peak == 1180 * kMebibyte);
  CHECK(phases.all().back().gpu_utilisation == doctest::Approx(0.75));
}
