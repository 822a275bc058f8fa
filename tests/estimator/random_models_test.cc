// Configs and graphs by chance, under recipes by chance: each is answered, and then everything in
// the answer adds up, or refused for a reason. PLIMSOLL_RANDOM says how many of each.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tests/support/invariants.h"
#include "tests/support/random_config.h"
#include "tests/support/random_onnx.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

using test::Chance;

int64_t wanted_count() {
  const char* asked = std::getenv("PLIMSOLL_RANDOM");
  const int64_t count = asked ? std::atoll(asked) : 0;
  return count > 0 ? count : 150;
}

Request random_request(const std::string& path, Chance& chance) {
  Request r = test::request(path, chance.pick<std::string>({"tesla-t4", "gtx-1080-ti",
                                                            "a100-sxm-80gb", "h100-sxm-80gb"}));
  r.batch = chance.between(1, 64);
  r.framework =
      chance.pick<std::string>({"pytorch", "pytorch", "pytorch", "pytorch-1.0", "tensorflow-1",
                                "mxnet", "torch7", "caffe", "theano", "ideal"});
  r.recipe.mode = chance.one_in(3) ? Mode::kInference : Mode::kTrain;
  r.recipe.optimizer = chance.pick({find_optimizer("sgd"), find_optimizer("momentum"),
                                    find_optimizer("adam"), find_optimizer("rmsprop")});
  r.recipe.precision =
      chance.pick({find_precision("fp32"), find_precision("tf32"), find_precision("amp-fp16"),
                   find_precision("amp-bf16"), find_precision("fp16")});
  const bool training = r.recipe.mode == Mode::kTrain;
  if (training && chance.one_in(8)) r.recipe.checkpoint = "blocks";
  if (training && chance.one_in(8)) r.recipe.accumulate = chance.between(2, 4);
  return r;
}

struct Tally {
  int64_t answered = 0, refused = 0;
};

// The estimate of the same request at twice its batch is no smaller.
void check_larger(const Request& request, const Estimate& smaller, const Hwdb& hwdb) {
  Request twice = request;
  twice.batch = 2 * *request.batch;
  const auto larger = estimate(twice, hwdb);
  const std::string why = larger ? "" : larger.error().front().message;
  CHECK_MESSAGE(larger, why);
  if (!larger) return;
  for (const std::string& fault : test::check_growth(smaller, *larger)) FAIL_CHECK(fault);
}

void check(const Request& request, bool grows, const Hwdb& hwdb, Tally& tally) {
  const auto answer = estimate(request, hwdb);
  if (!answer) {
    ++tally.refused;
    const auto at = std::ranges::find(answer.error(), Severity::kError, &Diagnostic::severity);
    REQUIRE(at != answer.error().end());
    const Diagnostic& first = *at;
    CAPTURE(first.message);
    // Ours (E9xx) is no reason; nor is one without words.
    CHECK((first.code.starts_with("E1") || first.code.starts_with("E2") ||
           first.code.starts_with("E3") || first.code.starts_with("E8")));
    CHECK_FALSE(first.message.empty());
    return;
  }
  ++tally.answered;
  for (const std::string& fault : test::check_invariants(*answer)) FAIL_CHECK(fault);
  if (grows) check_larger(request, *answer, hwdb);
}

template <class Make>
Tally check_all(const char* file, uint64_t first_seed, Make make) {
  const Hwdb hwdb = Hwdb::open({}).value();
  const test::Scratch scratch;
  Tally tally;
  for (int64_t i = 0; i < wanted_count(); ++i) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(i);
    CAPTURE(seed);
    Chance chance(seed);
    const Request request = random_request(scratch.write(file, make(seed)), chance);
    CAPTURE(request.framework);
    CAPTURE(request.devices.front());
    check(request, i % 8 == 0, hwdb, tally);
  }
  return tally;
}

}  // namespace

TEST_CASE("configs by chance are answered consistently or refused for a reason") {
  const Tally tally = check_all("net.json", 1'000'000,
                                [](uint64_t seed) { return test::RandomConfig(seed).text(); });
  MESSAGE(tally.answered, " answered, ", tally.refused, " refused");
  CHECK(tally.answered >= 2 * tally.refused);
  CHECK(tally.refused > 0);
}

TEST_CASE("graphs by chance are answered consistently or refused for a reason") {
  const Tally tally = check_all("net.onnx", 2'000'000,
                                [](uint64_t seed) { return test::RandomOnnx(seed).bytes(); });
  MESSAGE(tally.answered, " answered, ", tally.refused, " refused");
  CHECK(tally.answered >= 2 * tally.refused);
  CHECK(tally.refused > 0);
}

}  // namespace plimsoll
