#include "estimator/memory/host_memory.h"

#include <doctest/doctest.h>

#include "hwdb/hwdb.h"

using namespace plimsoll;

namespace {

HostMemory of(const std::string& framework, int64_t samples) {
  // Images of 3x32x32 floats: Torres et al.'s 60000 and 600000 are 703 and 7031 MiB.
  return host_memory(host_process(*Hwdb::open()->framework(framework)),
                     {.bytes_per_sample = 3 * 32 * 32 * 4, .samples_in_memory = samples});
}

}  // namespace

TEST_CASE("host memory: grows by two copies of the data set in PyTorch, by four in TensorFlow") {
  const double set = 540000.0 * 3 * 32 * 32 * 4;
  const auto growth = [&](const std::string& framework) {
    return static_cast<double>(of(framework, 600000).bytes - of(framework, 60000).bytes) / set;
  };
  CHECK(growth("pytorch-1.4") == doctest::Approx(2.005));
  CHECK(growth("tensorflow-2.2") == doctest::Approx(4.02));
}

TEST_CASE("host memory: a streamed data set takes nothing, batches ahead do") {
  const FrameworkProfile pytorch = *Hwdb::open()->framework("pytorch");
  const HostMemory bare = host_memory(host_process(pytorch), {.bytes_per_sample = 1000});
  CHECK(bare.bytes == pytorch.host_base.value);
  CHECK(bare.range.low < bare.bytes);
  CHECK(bare.range.high > bare.bytes);
  const HostMemory ahead = host_memory(host_process(pytorch),
                                       {.bytes_per_sample = 1000, .batch = 32, .batches_ahead = 2});
  CHECK(ahead.bytes == bare.bytes + 64000);
}

TEST_CASE("host memory: each worker adds itself and the batches it has ready") {
  const FrameworkProfile pytorch = *Hwdb::open()->framework("pytorch");
  const HostMemory four =
      host_memory(host_process(pytorch), {.bytes_per_sample = 1000, .batch = 32, .workers = 4});
  CHECK(four.bytes == pytorch.host_base.value + 4 * (pytorch.host_worker.value + 2 * 32000));
  CHECK(four.range.high ==
        pytorch.host_base_high.value + 4 * (pytorch.host_worker_high.value + 2 * 32000));
}

TEST_CASE("host memory: what no machine has is not added up beyond 64 bits") {
  const HostMemory most = host_memory(host_process(*Hwdb::open()->framework("pytorch")),
                                      {.bytes_per_sample = int64_t{1} << 40,
                                       .samples_in_memory = int64_t{1} << 50,
                                       .batch = int64_t{1} << 31,
                                       .batches_ahead = 1024,
                                       .workers = 4096});
  CHECK(most.bytes > 1'000'000'000'000'000);
  CHECK(most.range.low <= most.bytes);
  CHECK(most.bytes <= most.range.high);
}

TEST_CASE("host memory: nothing is said where the framework's part is not known") {
  CHECK(
      host_memory(host_process(*Hwdb::open()->framework("cntk")), {.samples_in_memory = 5}).bytes ==
      0);
}

TEST_CASE("host memory: what a step has there, pinned blocks as powers of two") {
  Step step;
  BoundStep bound;
  step.on_host = {{.bytes = 1000}, {.bytes = 1000, .pinned = true}};
  bound.on_host_bytes = {1000, 1000};
  CHECK(offloaded_bytes(step, bound) == 1000 + 1024);
  // Two feature maps go, one comes back, a third goes.
  const auto add = [&](CollectiveKind kind, int64_t bytes) {
    step.events.push_back({Event::Kind::kIssue, Phase::kForward,
                           static_cast<uint32_t>(step.collectives.size()), kNoNode});
    step.collectives.push_back({.kind = kind, .bytes = bytes, .stays = true});
    bound.collective_bytes.push_back(bytes);
  };
  for (int i = 0; i < 2; ++i) add(CollectiveKind::kToHost, 512);
  add(CollectiveKind::kFromHost, 512);
  add(CollectiveKind::kToHost, 256);
  CHECK(offloaded_bytes(step, bound) == 2024 + 1024);
}
