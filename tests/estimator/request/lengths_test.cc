#include "estimator/request/lengths.h"

#include <doctest/doctest.h>

#include "estimator/estimator.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

using test::answer;

Request bert(int64_t sequence) {
  Request request = test::request("builtin:bert-base", "a100", 8);
  request.dims = {{"sequence", sequence}};
  return request;
}

}  // namespace

TEST_CASE("a request's own longest batch: the memory of that one, the time of the usual one") {
  Request request = test::request("builtin:bert-base", "a100", 8);
  request.dims = {{"sequence", 128}};
  const Estimate usual = answer(request);
  request.longest = {{"sequence", 512}};
  const Estimate both = answer(request);
  const Estimate longest = answer(at_longest(request));
  CHECK(both.time.step_ns == usual.time.step_ns);
  CHECK(both.memory.device_bytes == longest.memory.device_bytes);
  CHECK(longest.memory.device_bytes > 2 * usual.memory.live_peak_bytes);
  CHECK(both.kept.size() == longest.kept.size());
}

TEST_CASE("time is the mean over the lengths of batches, memory that of the longest") {
  const Estimate brief = answer(bert(128)), wide = answer(bert(512));
  Request mixed = test::request("builtin:bert-base", "a100", 8);
  mixed.lengths = {{{{"sequence", 128}}, 3}, {{{"sequence", 512}}, 1}};
  mixed.epochs = 1;
  mixed.samples = 800;
  const Estimate e = answer(mixed);
  const auto mean = [&](int64_t TimeEstimate::*figure) {
    return (3. * static_cast<double>(brief.time.*figure) + static_cast<double>(wide.time.*figure)) /
           4;
  };
  CHECK(static_cast<double>(e.time.step_ns) == doctest::Approx(mean(&TimeEstimate::step_ns)));
  CHECK(static_cast<double>(e.time.gpu_ns) == doctest::Approx(mean(&TimeEstimate::gpu_ns)));
  CHECK(static_cast<double>(*e.time.run_ns) == doctest::Approx(100 * mean(&TimeEstimate::step_ns)));
  CHECK(e.time.epoch_ns == e.time.run_ns);
  // As many samples in every batch: the rate is their number over the mean time.
  CHECK(e.time.samples_per_second == doctest::Approx(8e9 / mean(&TimeEstimate::step_ns)));
  CHECK(e.time.step_range_ns.low < e.time.step_ns);
  CHECK(e.time.step_range_ns.high > e.time.step_ns);
  CHECK(e.memory.device_bytes == wide.memory.device_bytes);
  REQUIRE(e.time.lengths.size() == 2);
  CHECK(e.time.lengths[0].share == doctest::Approx(.75));
  CHECK(e.time.lengths[0].step_ns == brief.time.step_ns);
  CHECK(e.time.lengths[1].sizes.at("sequence") == 512);
}

TEST_CASE("one length only is that length") {
  Request one = test::request("builtin:bert-base", "a100", 8);
  one.lengths = {{{{"sequence", 200}}, 5}};
  const Estimate e = answer(one), plain = answer(bert(200));
  CHECK(e.time.step_ns == plain.time.step_ns);
  CHECK(e.time.gpu_busy == doctest::Approx(plain.time.gpu_busy));
  CHECK(e.time.fp32_utilisation == doctest::Approx(plain.time.fp32_utilisation));
  CHECK(e.memory.device_bytes == plain.memory.device_bytes);
}

TEST_CASE("the largest batch has the greatest of the lengths, or the one that is asked for") {
  Request request;
  request.lengths = {{{{"source", 20}, {"target", 30}}, 1}, {{{"source", 40}, {"target", 25}}, 1}};
  request.longest = {{"target", 64}};
  const Request longest = at_longest(request);
  CHECK(longest.dims == Binding{{"source", 40}, {"target", 64}});
  CHECK(longest.lengths.empty());
  CHECK(longest.longest.empty());
}

}  // namespace plimsoll
