#include "monitor/gpu_recording.h"

#include <doctest/doctest.h>

#include "graph/json/json_fields.h"
#include "tests/support/samples.h"
#include "tests/support/scratch.h"

using namespace plimsoll;
using namespace plimsoll::monitor;
using plimsoll::test::card;
using plimsoll::test::host_sample;
using plimsoll::test::kMebibyte;
using plimsoll::test::Scratch;

namespace {

std::string line_of(const Sample& sample) {
  plimsoll::JsonWriter out;
  plimsoll::JsonFields(out).visit(plimsoll::unchanged(sample));
  return out.take() + "\n";
}

}  // namespace

TEST_CASE("what is written as a sample is read as a recording, faults too") {
  Sample first = host_sample(0, 100);
  first.devices = {{.gpu = card(40, 512 * kMebibyte), .bytes = 512 * kMebibyte}};
  first.faults = {"GPU 0: nvmlDeviceGetPowerUsage: Not Supported"};
  Sample second = first;
  second.number = 1;
  second.faults.clear();
  second.devices[0].gpu.processes.reset();
  second.devices[0].gpu.utilisation.reset();
  const Scratch scratch;
  const std::string path =
      scratch.write("run.jsonl", "{\"schema\":\"plimsoll.monitor.samples\",\"version\":1}\n" +
                                     line_of(first) + "{\"phase\":\"steady\"}\n" + line_of(second));
  auto recording = open_gpu_recording(path);
  REQUIRE(recording);
  const GpuReadings one = (*recording)->read();
  REQUIRE(one.gpus.size() == 1);
  CHECK(one.gpus[0].name == "Tesla T4");
  CHECK((*one.gpus[0].processes)[1].pid == 40);
  CHECK((*one.gpus[0].processes)[1].bytes == 512 * kMebibyte);
  CHECK(one.gpus[0].power_watts == 69.5);
  CHECK(one.faults == first.faults);
  const GpuReadings two = (*recording)->read();
  CHECK(!two.gpus[0].processes);
  CHECK(!two.gpus[0].utilisation);
  const GpuReadings after = (*recording)->read();
  CHECK(after.gpus.size() == 1);
  CHECK(after.faults.empty());
}

TEST_CASE("a recording is read strictly") {
  const Scratch scratch;
  const auto code = [&](const char* text) {
    auto recording = open_gpu_recording(scratch.write("r.jsonl", text));
    return recording ? std::string() : recording.error().front().code;
  };
  CHECK(code("") == "E501");
  CHECK(code("{\"phase\":\"steady\"}\n") == "E501");
  CHECK(code("{\"sample\":0,\"gpus\":[{\"used_bytes\":\"much\"}]}\n") == "E311");
  CHECK(code("{\"sample\":0,\"gpus\":[{\"used_bytes\":-1}]}\n") == "E312");
  CHECK(code("{\"sample\":0,\"gpus\":[{\"usedbytes\":1}]}\n") == "E304");
  CHECK(code("{\"sample\":0,\"gpus\":7}\n") == "E311");
  CHECK(code("{\"sample\":0,\"gpus\":[") == "E301");
  CHECK(open_gpu_recording(scratch.path("none")).error().front().code == "E601");
}
