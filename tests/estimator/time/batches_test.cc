#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "estimator/app/sweep/sweep.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

// All small batches, where tiles and launches decide; then pairs of neighbours.
std::vector<int64_t> batches() {
  std::vector<int64_t> all;
  for (int64_t n = 1; n <= 40; ++n) all.push_back(n);
  for (int64_t n = 48; n <= 512; n += 16) {
    all.push_back(n);
    all.push_back(n + 1);
  }
  return all;
}

// How much shorter a step gets at most than one of a smaller batch, by variant; `skip`: the batch
// from which on what came before does not count.
std::vector<double> deepest_drops(const std::vector<Request>& variants, int64_t skip) {
  const std::vector<SizeAxis> sizes = {{"batch", batches()}};
  std::vector<std::map<int64_t, int64_t>> steps(variants.size());
  const auto done = sweep(variants, sizes, *Hwdb::open(), {}, [&](const SweepPoint& point) {
    CHECK_FALSE(point.failure.has_value());
    steps[point.variant][sizes[0].values[static_cast<size_t>(point.point)]] = point.step_ns;
    return true;
  });
  REQUIRE(done);
  std::vector<double> drops;
  for (const auto& by_batch : steps) {
    int64_t longest = 0;
    double drop = 0;
    for (const auto& [batch, ns] : by_batch) {
      if (batch == skip) longest = 0;
      if (longest > 0)
        drop = std::max(drop, 1 - static_cast<double>(ns) / static_cast<double>(longest));
      longest = std::max(longest, ns);
    }
    drops.push_back(drop);
  }
  return drops;
}

std::vector<Request> variants_of(const std::string& model) {
  std::vector<Request> variants;
  for (const char* card : {"titan-x-pascal", "tesla-v100-sxm2-16gb", "tesla-t4", "rtx-3090",
                           "a100-sxm-40gb", "h100-sxm-80gb"}) {
    for (const PrecisionRow* precision : {find_precision("fp32"), find_precision("amp-fp16")}) {
      Request request = test::request("builtin:" + model, card);
      request.recipe.precision = precision;
      variants.push_back(request);
    }
  }
  return variants;
}

// A wave more of blocks, or another tile, may make a kernel a little shorter; no whole step.
constexpr double kOfTiles = .035;

TEST_CASE("no step gets shorter with a larger batch but for what tiles and waves explain") {
  for (const char* model : {"resnet50", "alexnet", "mobilenet_v2", "bert-base"}) {
    const std::vector<Request> variants = variants_of(model);
    const std::vector<double> drops = deepest_drops(variants, 0);
    for (size_t i = 0; i < drops.size(); ++i) {
      CAPTURE(model);
      CAPTURE(variants[i].devices.front());
      CHECK(drops[i] <= kOfTiles);
    }
  }
}

// cuDNN's kernels for 17 to 32 sequences are slow on Pascal: backward passes of LSTM and GRU with
// 1,024 hidden units take 2.6 to 3.1 times as long for 32 sequences as for 64 there, 0.8 times on
// V100 and 0.7 times on an H100, in 32 bits (hwdb/calibrations/measured/recurrent.csv).
TEST_CASE("recurrent steps in 32 bits get shorter beyond 32 sequences on Pascal, nowhere else") {
  const std::vector<Request> variants = variants_of("lstm-lm");
  const std::vector<double> beyond = deepest_drops(variants, 33),
                            whole = deepest_drops(variants, 0);
  for (size_t i = 0; i < variants.size(); ++i) {
    CAPTURE(variants[i].devices.front());
    CHECK(beyond[i] <= kOfTiles);
    const bool pascal = variants[i].devices.front() == "titan-x-pascal";
    if (!pascal && variants[i].recipe.precision == find_precision("fp32"))
      CHECK(whole[i] <= kOfTiles);
  }
  CHECK(whole.front() > kOfTiles);
}

}  // namespace
}  // namespace plimsoll
