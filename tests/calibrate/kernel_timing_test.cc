#include "calibrate/kernel_timing.h"

#include <doctest/doctest.h>

#include "tests/calibrate/fake_card.h"

using namespace plimsoll;
using namespace plimsoll::calibrate;
using test::conv_kernel, test::FakeCard;

TEST_CASE("kernel timing: what a framework takes of what is offered") {
  FakeCard card;
  const auto taken = [&](const KernelAt& kernel, const TimingRules& rules) {
    const auto timing = time_kernel(card, kernel, rules);
    REQUIRE(timing);
    CHECK(timing->offers.size() == 3);
    REQUIRE(timing->taken);
    return timing->offers[*timing->taken].offer.algorithm;
  };
  // Tensor cores where the recipe allows them, else the first of the others.
  CHECK(taken(conv_kernel(4, Pass::kForward, true), {}) == "tensor");
  CHECK(taken(conv_kernel(4), {}) == "winograd");
  CHECK(taken(conv_kernel(4), {.workspace_limit = 4999}) == "implicit_gemm");
  // The later offers of this card are the slower ones; make the last the fastest.
  CHECK(taken(conv_kernel(4), {.benchmark = true}) == "winograd");
  const auto one = time_kernel(card, conv_kernel(4), {.most_offers = 1});
  CHECK(one->offers.size() == 1);
  CHECK_FALSE(one->taken);
  CHECK(one->skipped == "the framework may use none of the library's plans");
}

TEST_CASE("kernel timing: median, least and most of the samples") {
  FakeCard card;
  const auto timing = time_kernel(card, conv_kernel(4), {});
  const TimedOffer& offer = timing->offers[1];
  const double least = FakeCard::seconds(conv_kernel(4), 1);
  CHECK(offer.low == doctest::Approx(least));
  CHECK(offer.seconds == doctest::Approx(least * 1.02));
  CHECK(offer.high == doctest::Approx(least * 1.04));
  CHECK(offer.state.sm_clock_hz == 1.98e9);
  CHECK_FALSE(offer.clock_moved);
}

TEST_CASE("kernel timing: repeated where the clock moved over 3 %, three times at most, and said") {
  FakeCard card;
  // The first try of each offer sinks by 8 %, the second holds.
  card.clock = [](int call, int sample) { return call % 2 == 1 ? 1.9e9 - 4e7 * sample : 1.7e9; };
  auto timing = time_kernel(card, conv_kernel(4), {});
  CHECK(card.timed == 6);
  for (const TimedOffer& offer : timing->offers) {
    CHECK_FALSE(offer.clock_moved);
    CHECK(offer.state.sm_clock_hz == 1.7e9);
  }
  card.timed = 0;
  card.clock = [](int, int sample) { return 1.9e9 - 2e7 * sample; };
  timing = time_kernel(card, conv_kernel(4), {});
  CHECK(card.timed == 9);
  for (const TimedOffer& offer : timing->offers) CHECK(offer.clock_moved);
  card.timed = 0;
  card.clock = [](int, int sample) { return 1.9e9 - 1e7 * sample; };  // 2.1 %
  timing = time_kernel(card, conv_kernel(4), {});
  CHECK(card.timed == 3);
}

TEST_CASE("kernel timing: what fails is said, and the next is taken") {
  FakeCard card;
  card.fault = [](const KernelAt&, size_t offer) -> Result<void> {
    if (offer == 1) return error("E722", "an illegal address");
    return {};
  };
  auto timing = time_kernel(card, conv_kernel(4), {});
  CHECK(timing->offers[1].failed == "an illegal address");
  CHECK(timing->offers[1].seconds == 0);
  CHECK(timing->taken == 2);
  card.fault = [](const KernelAt&, size_t) -> Result<void> { return error("E721", "no memory"); };
  timing = time_kernel(card, conv_kernel(4), {});
  CHECK_FALSE(timing->taken);
  CHECK(timing->skipped == "no memory");
  card.unknown = [](const KernelAt&) { return true; };
  CHECK(time_kernel(card, conv_kernel(4), {})->skipped == "no library runs it");
  card.unknown = nullptr;
  card.fault = [](const KernelAt&, size_t) -> Result<void> { return error("E612", "disk full"); };
  CHECK(time_kernel(card, conv_kernel(4), {}).error()[0].code == "E612");
}

TEST_CASE("kernel timing: what needs more memory than it may have is not run") {
  FakeCard card;
  const KernelAt kernel = conv_kernel(4);
  const auto timing = time_kernel(card, kernel, {.memory = kernel.read + kernel.written + 4999});
  CHECK(card.timed == 2);
  CHECK(timing->offers[1].failed.find("it needs ") == 0);
  CHECK(timing->taken == 2);
}
