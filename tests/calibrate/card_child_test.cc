#include "calibrate/card_child.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include "calibrate/kernel_timing.h"
#include "tests/calibrate/fake_card.h"

using namespace plimsoll;
using namespace plimsoll::calibrate;
using test::conv_kernel, test::FakeCard;

namespace {

int64_t batch_of(const KernelAt& kernel) {
  return std::get<ConvProblem<int64_t>>(kernel.problem).n;
}

// Past whoever catches it in this process.
void die_of(int signal) {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Crashes over a batch of 3; over one of 4 its context is lost: all that follows fails.
Result<std::unique_ptr<Card>> fragile_card() {
  auto card = std::make_unique<FakeCard>();
  card->fault = [lost = false](const KernelAt& kernel, size_t) mutable -> Result<void> {
    if (batch_of(kernel) == 3) die_of(SIGSEGV);
    lost = lost || batch_of(kernel) == 4;
    if (lost) return error("E722", "an illegal address");
    if (batch_of(kernel) == 5) return error("E721", "no memory");
    return {};
  };
  return card;
}

}  // namespace

TEST_CASE("a card in its own process: answers as the card does") {
  auto card = CardChild::start(fragile_card);
  REQUIRE(card);
  CHECK((*card)->facts().name == "NVIDIA H100 80GB HBM3");
  CHECK(*(*card)->offers(conv_kernel(1)) == FakeCard::usual_offers(conv_kernel(1)));
  CHECK((*card)->time(conv_kernel(1), 1)->size() == 5);
  CHECK((*card)->figures()->size() == 5);
}

TEST_CASE("a card in its own process: a crash or a lost context costs one kernel") {
  auto card = CardChild::start(fragile_card);
  REQUIRE(card);
  CHECK((*card)->time(conv_kernel(1), 0));
  const auto crashed = (*card)->time(conv_kernel(3), 0);
  REQUIRE_FALSE(crashed);
  CHECK(crashed.error()[0].code == "E725");
  CHECK(crashed.error()[0].message.find("crashed (Segmentation fault)") != std::string::npos);
  CHECK((*card)->time(conv_kernel(2), 0));
  CHECK((*card)->time(conv_kernel(4), 0).error()[0].code == "E722");
  CHECK((*card)->time(conv_kernel(2), 0));
  CHECK((*card)->time(conv_kernel(5), 0).error()[0].code == "E721");
  CHECK((*card)->time(conv_kernel(2), 0));
  const auto timing = time_kernel(**card, conv_kernel(3), {});
  REQUIRE(timing);
  CHECK_FALSE(timing->taken);
  CHECK(timing->skipped.find("crashed") != std::string::npos);
}

TEST_CASE("a card in its own process: what keeps it from opening is said") {
  const auto none = CardChild::start([]() -> Result<std::unique_ptr<Card>> {
    return error("E701", "there is no driver", {}, "install one");
  });
  REQUIRE_FALSE(none);
  CHECK(none.error()[0].code == "E701");
  CHECK(none.error()[0].help == "install one");
  const auto crashed = CardChild::start([]() -> Result<std::unique_ptr<Card>> {
    die_of(SIGABRT);
    return error("E701", "not reached");
  });
  REQUIRE_FALSE(crashed);
  CHECK(crashed.error()[0].code == "E707");
}
