#include "calibrate/card_recording.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "tests/calibrate/fake_card.h"
#include "tests/support/scratch.h"

using namespace plimsoll;
using namespace plimsoll::calibrate;
using test::conv_kernel, test::FakeCard;

TEST_CASE("a recorded card answers as the card did, faults too, in the order it did") {
  const test::Scratch scratch;
  const std::string path = scratch.path("card.jsonl");
  auto fake = std::make_unique<FakeCard>();
  fake->fault = [](const KernelAt&, size_t offer) -> Result<void> {
    if (offer == 1) return error("E721", "out of memory", {}, "buy more");
    return {};
  };
  fake->clock = [](int call, int) { return call == 1 ? 1e9 : 2e9; };
  auto recording = RecordingCard::make(std::move(fake), path);
  REQUIRE(recording);
  const KernelAt kernel = conv_kernel(4);
  const auto offers = (*recording)->offers(kernel);
  const auto first = (*recording)->time(kernel, 0), second = (*recording)->time(kernel, 0);
  CHECK_FALSE((*recording)->time(kernel, 1));
  const auto figures = (*recording)->figures();
  const CardFacts facts = (*recording)->facts();
  recording->reset();

  auto replayed = RecordedCard::open(path);
  REQUIRE(replayed);
  CHECK((*replayed)->facts().name == facts.name);
  CHECK((*replayed)->facts().libraries == facts.libraries);
  CHECK((*replayed)->facts().compute_capability == facts.compute_capability);
  CHECK((*replayed)->facts().free_bytes == facts.free_bytes);
  CHECK(*(*replayed)->offers(kernel) == *offers);
  CHECK(*(*replayed)->figures() == *figures);
  const auto again = (*replayed)->time(kernel, 0);
  REQUIRE(again->size() == first->size());
  CHECK(again->front().seconds == doctest::Approx(first->front().seconds));
  CHECK(again->front().state.sm_clock_hz == 1e9);
  CHECK((*replayed)->time(kernel, 0)->front().state.sm_clock_hz == 2e9);
  CHECK((*replayed)->time(kernel, 0)->front().state.sm_clock_hz == 2e9);  // the last goes on
  const auto failed = (*replayed)->time(kernel, 1);
  REQUIRE_FALSE(failed);
  CHECK(failed.error()[0].code == "E721");
  CHECK(failed.error()[0].help == "buy more");
  CHECK((*replayed)->time(conv_kernel(5), 0).error()[0].code == "E723");
  CHECK((*replayed)->offers(conv_kernel(5)).error()[0].code == "E723");
}

TEST_CASE("a recording: what is none is refused, and its line named") {
  const test::Scratch scratch;
  const auto code_of = [&](const std::string& text) {
    const auto card = RecordedCard::open(scratch.write("card.jsonl", text));
    REQUIRE_FALSE(card);
    return card.error()[0].code;
  };
  CHECK(code_of("") == "E501");
  CHECK(code_of("{\"call\":\"figures\",\"figures\":[]}\n") == "E501");
  CHECK(code_of("{\"call\":\"dance\"}\n") == "E313");
  CHECK(code_of("{\"call\":\"facts\"}\n") == "E306");
  CHECK(code_of("{\"call\":\"time\",\"kernel\":{\"op\":\"conv\"},\"offer\":0}\n") == "E311");
  CHECK(code_of("{\"call\":\"figures\",\"figures\":[],\"more\":1}\n") == "E304");
  const auto torn = RecordedCard::open(scratch.write("torn", "\n{\"call\":\"figures\",\"fig"));
  REQUIRE_FALSE(torn);
  CHECK(torn.error()[0].place.file.find("line 2") != std::string::npos);
}

TEST_CASE("a recording goes on in a file that has one") {
  const test::Scratch scratch;
  const std::string path = scratch.path("card.jsonl");
  for (int i = 0; i < 2; ++i) {
    auto card = RecordingCard::make(std::make_unique<FakeCard>(), path);
    REQUIRE(card);
    CHECK((*card)->time(conv_kernel(1 + i), 0));
  }
  auto replayed = RecordedCard::open(path);
  REQUIRE(replayed);
  CHECK((*replayed)->time(conv_kernel(1), 0));
  CHECK((*replayed)->time(conv_kernel(2), 0));
}
