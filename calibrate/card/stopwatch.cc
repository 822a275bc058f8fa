#include "calibrate/card/stopwatch.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace plimsoll::calibrate {
namespace {

constexpr int kSamples = 5;
constexpr double kSampleSeconds = 4e-3;  // of work in each
constexpr int kMostCalls = 200;          // queued for one: the driver holds a thousand
constexpr double kShortest = 1e-6;
// Sets of operands, so many times the cache: none is found there when its turn comes again.
constexpr int64_t kCaches = 3, kMostSets = 8;
constexpr double kPatience = 1.5;  // times what queueing took the first time

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Stopwatch::Stopwatch(const Driver& driver, const OwnModule& module,
                     std::function<CardState()> state)
    : driver_(driver),
      module_(module),
      state_(std::move(state)),
      cache_(driver.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)) {}

std::vector<Sample> Stopwatch::time(Work& work, size_t offer, DType operands) const {
  const std::vector<int64_t> bytes = work.operand_bytes();
  int64_t all = 1;
  for (const int64_t one : bytes) all += one;
  const int64_t count = std::clamp<int64_t>(kCaches * cache_ / all + 1, 1, kMostSets);
  std::vector<std::vector<DeviceMemory>> sets(static_cast<size_t>(count));
  for (auto& set : sets) {
    for (const int64_t one : bytes) module_.fill(set.emplace_back(driver_, one), operands);
  }
  const DeviceMemory workspace(driver_, work.offers()[offer].workspace_bytes.value_or(0));
  const auto run = [&](int calls) {
    for (int i = 0; i < calls; ++i)
      work.launch(offer, sets[static_cast<size_t>(i) % sets.size()], workspace);
  };
  const Event begin(driver_), end(driver_);
  // Loads code, raises clocks, and finds out that it fails.
  run(static_cast<int>(count));
  driver_.synchronize();
  begin.record();
  run(1);
  end.record();
  const double once = std::max(end.seconds_since(begin), kShortest);
  const int calls = std::clamp(static_cast<int>(std::lround(kSampleSeconds / once)), 1, kMostCalls);
  const double queueing = seconds_of([&] { run(calls); });
  driver_.synchronize();
  std::vector<Sample> samples;
  for (int i = 0; i < kSamples; ++i) {
    // Where the host is slower than the card, the card waits until all is there.
    module_.wait(std::max(0.0, kPatience * queueing - calls * once / 2));
    begin.record();
    run(calls);
    end.record();
    CardState state = state_();
    samples.push_back({end.seconds_since(begin) / calls, std::move(state)});
  }
  return samples;
}

}  // namespace plimsoll::calibrate
