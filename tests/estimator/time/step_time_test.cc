#include "estimator/time/step_time.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

// One byte a second, no calibration: a copy of n bytes takes n seconds.
TimeContext unit_context() {
  DeviceRates rates{.id = "unit", .compute_capability = 52, .sms = 1, .bandwidth = 1};
  rates.peak.fill(1);
  return {rates, {}};
}

constexpr auto kAlongData = static_cast<size_t>(Axis::kData);

StepTimeInput copies(int64_t bytes, int64_t count, StepPhase phase = StepPhase::kForward) {
  StepTimeInput input;
  KernelAt kernel{.kernel_class = KernelClass::kCopy, .op = "copy", .read = bytes, .written = 0};
  input.kernels.push_back({kernel, {.count = count, .phase = phase}});
  return input;
}

TEST_CASE("step: device and host far apart, the slower one decides") {
  StepTimeInput input = copies(1000, 4);
  CHECK(step_time(input, unit_context()).seconds == 4000);
  input.habits.launch = 1;
  const StepTime gpu = step_time(input, unit_context());
  CHECK(gpu.seconds == doctest::Approx(4000).epsilon(1e-6));
  CHECK_FALSE(gpu.host_bound);
  input.habits.launch = 1e6;
  const StepTime host = step_time(input, unit_context());
  CHECK(host.seconds == doctest::Approx(4e6).epsilon(1e-6));
  CHECK(host.host_bound);
}

TEST_CASE("step: what an operator launches beside its main kernel is no dispatch of its own") {
  StepTimeInput input = copies(1000, 4);
  input.habits.launch = 10;
  CHECK(step_time(input, unit_context()).host == 40);
  input.kernels[0].launches.dispatched = false;
  CHECK(step_time(input, unit_context()).host == 0);
  CHECK(step_time(input, unit_context()).gpu == 4000);
}

TEST_CASE("step: a copy beside the update costs what it is longer") {
  StepTimeInput input = copies(1000, 4);
  input.input_bytes = 700;
  input.parameter_arrays = 2;
  input.habits.per_parameter = 100;
  input.habits.input_bandwidth = 1;
  CHECK(step_time(input, unit_context()).seconds == 4000 + 200 + 700);
  input.habits.copies_beside_update = true;
  CHECK(step_time(input, unit_context()).seconds == 4000 + 700);
  input.input_bytes = 100;
  CHECK(step_time(input, unit_context()).seconds == 4000 + 200);
}

TEST_CASE("step: at its power limit a product takes longer, until it waits for memory") {
  constexpr int64_t kOperations = 2'000'000;
  DeviceRates limited = unit_context().rates();
  limited.sustained = .5;
  for (const int64_t bytes : {0, 1'999'999, 2'000'001, 3'999'999, 4'000'001, 9'000'000}) {
    CAPTURE(bytes);
    const KernelAt product{.kernel_class = KernelClass::kGemm,
                           .op = "product",
                           .flop = kOperations,
                           .read = bytes,
                           .problem = GemmProblem<int64_t>{.m = 100, .n = 100, .k = 100}};
    StepTimeInput input;
    input.kernels = {{product, {}}};
    CHECK(step_time(input, unit_context()).gpu == std::max(kOperations, bytes));
    CHECK(step_time(input, TimeContext(limited, {})).gpu == std::max(2 * kOperations, bytes));
  }
}

TEST_CASE("step: where device and host are alike, some layers wait for either") {
  StepTimeInput input = copies(1000, 4);
  input.habits.launch = 1000;
  const double seconds = step_time(input, unit_context()).seconds;
  CHECK(seconds > 4000 * 1.2);
  CHECK(seconds < 4000 * 1.5);
}

TEST_CASE(
    "step: one process for two devices dispatches twice and copies parameters there and back") {
  StepTimeInput input = copies(1000, 10);
  input.habits.launch = 1000;
  input.habits.per_replica = 7;
  input.kernels.push_back(copies(1000, 10, StepPhase::kBackward).kernels[0]);
  input.replicated = 3;
  input.exchange = {{.kind = CollectiveKind::kBroadcast, .bytes = 500}, {.awaited = true}};
  input.axes[kAlongData].rates.link = {.bandwidth = 10, .latency = 0};
  const StepTime one = step_time(input, unit_context());
  input.devices = 2;
  input.scheme = find_exchange_scheme("data-parallel");
  input.axes[kAlongData].group.per_node = 2;
  const StepTime two = step_time(input, unit_context());
  CHECK(one.communication == 0);
  CHECK(two.communication == 50);
  CHECK(two.fixed == 2 * 3 * 7);  // three arrays for each device
  // Forward passes one after the other, backward passes at once.
  CHECK(two.parts[0].host == one.host);
  CHECK(two.parts[1].host == one.host / 2);
  CHECK(two.host == two.parts[0].host + two.parts[1].host);
  input.input_bytes = 300;
  input.habits.input_bandwidth = 1;
  // Both batches to the first device, the other's from there.
  CHECK(step_time(input, unit_context()).input_copy == 2 * 300 + 300 / 10);
}

TEST_CASE("step: what is launched behind an exchange's beginning hides it") {
  StepTimeInput input = copies(1000, 10);
  input.devices = 2;
  input.axes[kAlongData].group.per_node = 2;
  input.exchange = {{.bytes = 500}, {.awaited = true}};
  input.axes[kAlongData].rates.link = {.bandwidth = 1, .latency = 0};
  const double work = step_time(input, unit_context()).gpu;
  CHECK(step_time(input, unit_context()).communication == doctest::Approx(500));
  input.axes[kAlongData].rates.link.bandwidth = 500 / work;  // as long as the step's work
  input.kernels[0].launches.stretch = 1;
  CHECK(step_time(input, unit_context()).communication == doctest::Approx(work / 2));
}

TEST_CASE("step: errors of its own widen the range, each by the share it concerns") {
  StepTimeInput input = copies(1000, 4);
  const auto width = [&] {
    const StepTime t = step_time(input, unit_context());
    CHECK(t.low <= t.seconds);
    CHECK(t.seconds <= t.high);
    return std::log(t.high / t.seconds);
  };
  const double kernels = width();
  input.errors.step = .3;
  CHECK(width() == doctest::Approx(std::hypot(kernels, .3)));
  input.errors.exchange = 5;  // there is no exchange
  CHECK(width() == doctest::Approx(std::hypot(kernels, .3)));
  input.errors.host = 1;  // nothing is dispatched either
  CHECK(width() == doctest::Approx(std::hypot(kernels, .3)));
  input.habits.fixed = 4000;  // half of the step, which may take e times as long
  CHECK(width() > std::log((1 + std::exp(1.)) / 2));
}

TEST_CASE("step: a host that is priced too fast to matter is in the range") {
  StepTimeInput input = copies(1000, 4);
  input.habits.launch = 500;  // half of the device's
  input.errors.host = std::log(4.);
  const StepTime fast = step_time(input, unit_context());
  input.habits.launch = 2000;
  CHECK(fast.high >= step_time(input, unit_context()).seconds);
}

TEST_CASE("step: an exchange that is priced too fast to be waited for is in the range") {
  StepTimeInput input = copies(1000, 4, StepPhase::kBackward);
  input.devices = 2;
  input.axes[kAlongData].group.per_node = 2;
  input.axes[kAlongData].rates.link = {.bandwidth = 1, .latency = 0};
  // Begun before the kernels, which hide half of their own time of it.
  input.exchange = {{.bytes = 1500}, {.awaited = true}};
  input.kernels[0].launches.stretch = 1;
  const StepTime hidden = step_time(input, unit_context());
  REQUIRE(hidden.communication == 0);
  input.errors.exchange = std::log(2.);
  const StepTime unsure = step_time(input, unit_context());
  CHECK(unsure.seconds == hidden.seconds);
  CHECK(unsure.high > hidden.high);
  CHECK(unsure.low == hidden.low);
}

TEST_CASE("step: reading files widens the range upwards alone, and where files are read") {
  StepTimeInput input = copies(1000, 4);
  input.errors.files = .8;
  const StepTime ready = step_time(input, unit_context());
  input.habits.loader.from_files = true;
  const StepTime read = step_time(input, unit_context());
  CHECK(read.seconds == ready.seconds);
  CHECK(read.load == 0);
  CHECK(read.low == ready.low);
  CHECK(std::log(read.high / read.seconds) ==
        doctest::Approx(std::hypot(.8, std::log(ready.high / ready.seconds))));
}

TEST_CASE("step: a loader in the launching process adds, one of its own is waited for") {
  StepTimeInput input = copies(1000, 4);
  input.samples = 100;
  input.habits.loader.per_sample = 10;
  const StepTime alone = step_time(input, unit_context());
  CHECK(alone.seconds == doctest::Approx(4000 + 1000));
  CHECK(alone.load == doctest::Approx(1000));
  CHECK_FALSE(alone.input_bound);
  input.habits.loader.processes = 2;
  CHECK(step_time(input, unit_context()).load == 0);
  input.habits.loader.per_sample = 100;  // two take 5000 s for a batch
  const StepTime waits = step_time(input, unit_context());
  CHECK(waits.seconds == doctest::Approx(5000));
  CHECK_FALSE(waits.input_bound);  // four fifths are the device's work
  input.habits.loader.processes = 0;
  CHECK(step_time(input, unit_context()).input_bound);
  input.habits.loader.beside = true;
  CHECK(step_time(input, unit_context()).seconds == doctest::Approx(10000));
}

}  // namespace
}  // namespace plimsoll
