#include "estimator/app/validate/validators.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>

#include "hwdb/measured/source.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

// On one GPU and on two, where gradients take other ways, at several batches; kernels among them.
std::vector<FiledRun> some_runs() {
  const auto sources = MeasuredSources::open(test::hwdb(), false);
  REQUIRE(sources);
  std::vector<FiledRun> runs;
  const auto keep = [&](MeasuredRun&& run) {
    const bool kept = run.model.starts_with("resnet-18") || run.model.starts_with("lstm-lm") ||
                      (run.kind == RunKind::kLayer && run.index < 40);
    if (kept && run.n_gpus.value_or(1) <= 2) runs.push_back({std::move(run), "runs"});
  };
  for (const char* file : {"gavel-throughputs.json", "convnet-benchmarks-caffe-layers.json"}) {
    const auto read =
        read_runs(PLIMSOLL_SOURCE_DIR "/tests/measured/" + std::string(file), *sources, keep);
    REQUIRE(read);
  }
  return runs;
}

using Shown = std::tuple<int64_t, std::string, std::string, double, double, double, std::string>;

std::vector<Shown> lines_of(const std::vector<FiledRun>& runs, size_t threads) {
  Validators validators(test::hwdb(), {}, Calibrations::shipped(), threads);
  std::vector<Shown> lines;
  size_t told = 0;
  validators.answer(
      runs,
      [&](const ValidationLine& l) {
        lines.emplace_back(l.index, l.model, l.quantity, l.predicted.value_or(0), l.low.value_or(0),
                           l.high.value_or(0), l.skipped);
      },
      [&](size_t done) { told = done; });
  CHECK(told == runs.size());
  return lines;
}

}  // namespace

TEST_CASE("validators: neither what was answered before nor the number of threads plays a part") {
  std::vector<FiledRun> runs = some_runs();
  REQUIRE(runs.size() > 60);
  const std::vector<Shown> one = lines_of(runs, 1);
  CHECK(std::ranges::count_if(one, [](const Shown& l) { return std::get<3>(l) > 0; }) > 50);
  CHECK(lines_of(runs, 3) == one);
  std::ranges::reverse(runs);
  std::vector<Shown> backwards = lines_of(runs, 1);
  std::ranges::reverse(backwards);
  // Each of these runs has one line.
  CHECK(backwards == one);
}
