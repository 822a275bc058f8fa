#include "hwdb/device.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "hwdb/hwdb.h"

using namespace plimsoll;

namespace {

std::string p4000_text() { return Hwdb::open()->read("devices/quadro-p4000.json").value(); }

// The built-in Quadro P4000 with one piece of its file replaced.
Result<Device> altered(const std::string& from, const std::string& to) {
  std::string text = p4000_text();
  const size_t at = text.find(from);
  REQUIRE(at != text.npos);
  text.replace(at, from.size(), to);
  return read_device(text, "own/quadro-p4000.json", "quadro-p4000");
}

std::string code_of(const Result<Device>& device) {
  return device ? "" : device.error().front().code;
}

}  // namespace

TEST_CASE("device: every built-in file loads, without a warning, all figures with a source") {
  const Hwdb hwdb = *Hwdb::open();
  for (const std::string& id : hwdb.device_ids()) {
    CAPTURE(id);
    const auto device = hwdb.device(id);
    REQUIRE(device);
    CHECK(device->id == id);
    CHECK(device->warnings.empty());
    // A sustained clock is there where the power limit was seen to bind; else a rule has it.
    const auto measured = std::ranges::count(device->figures, "sustained_clock", &FigureNote::name);
    const auto limited = static_cast<size_t>(measured);
    CHECK(device->figures.size() == 22 + limited + device->peaks.size() + device->mig.size());
    for (const FigureNote& figure : device->figures) {
      CAPTURE(figure.name);
      CHECK_FALSE(figure.value.empty());
      CHECK_FALSE(figure.source.empty());
    }
  }
}

TEST_CASE("device: quoted peaks follow from units, width and clock within 1 %") {
  const Hwdb hwdb = *Hwdb::open();
  for (const std::string& id : hwdb.device_ids()) {
    const Device device = hwdb.device(id).value();
    for (const auto& row : device.peaks) {
      const auto& name = row.first;
      const auto& peak = row.second;
      CAPTURE(id);
      CAPTURE(name);
      const double derived =
          peak.flop_per_sm_cycle * static_cast<double>(device.sms) * peak.clock.value;
      CHECK(std::abs(derived / peak.rate.value - 1) < 0.01);
      CHECK(peak.clock <= device.max_clock);
    }
    const Peak* fp32 = device.peak("fp32");
    REQUIRE(fp32);
    if (id == "unit") continue;
    // Every plain core does one multiply-add a cycle.
    CHECK(fp32->flop_per_sm_cycle * static_cast<double>(device.sms) ==
          2.0 * static_cast<double>(device.cuda_cores));
  }
}

TEST_CASE("device: facts that hold of every card") {
  const Hwdb hwdb = *Hwdb::open();
  for (const std::string& id : hwdb.device_ids()) {
    if (id == "unit") continue;
    CAPTURE(id);
    const Device device = hwdb.device(id).value();
    CHECK(device.base_clock <= device.boost_clock);
    CHECK(device.boost_clock <= device.max_clock);
    CHECK(device.sustained_clock <= device.boost_clock);
    // The driver reports no more than there is. NVIDIA sells H200, B200, GB200 and B300 by what
    // is enabled.
    const bool decimal = id.starts_with("h200") || id.starts_with("b") || id == "gb200";
    if (!decimal) CHECK(device.memory_reported <= device.memory);
    CHECK(device.memory_reported / device.memory > 0.9);
    // A memory pin moves between 4 and 33 Gbit/s with GDDR, 1 to 9 with stacked memory.
    const double per_pin = device.bandwidth.value * 8 / static_cast<double>(device.bus_width);
    CHECK(per_pin > 1e9);
    CHECK(per_pin < (device.memory_type.starts_with("HBM") ? 10e9 : 33e9));
    CHECK((device.nvlink_links > 0) == (device.nvlink_generation > 0));
    // Machine balance: 5 to 120 flop of fp32 for each byte.
    const double balance = device.peak("fp32")->rate.value / device.bandwidth.value;
    CHECK(balance > 5);
    CHECK(balance < 120);
  }
}

TEST_CASE("device: the Quadro P4000") {
  const Device device = Hwdb::open()->device("p4000").value();
  CHECK(device.id == "quadro-p4000");
  CHECK(device.architecture == "pascal-gp10x");
  CHECK(device.compute_capability == ComputeCapability{6, 1});
  CHECK(device.sms == 14);
  CHECK(device.cuda_cores == 1792);
  CHECK(device.bandwidth.value == 243.3e9);
  CHECK(device.peak("fp32")->rate.value == 5.3e12);
  CHECK(device.memory_reported.value == int64_t{8119} << 20);
  CHECK(device.peak("fp16_tensor") == nullptr);
}

TEST_CASE("device: peaks of cores and of tensor cores, at any clock") {
  const Device a100 = Hwdb::open()->device("a100").value();
  CHECK(a100.peak("tf32_tensor")->rate.value == 156e12);
  CHECK(a100.peak("fp32")->rate.value == 19.5e12);
  CHECK(a100.peak("bf16_tensor")->rate.value == 312e12);
  CHECK(a100.peak("fp8_tensor") == nullptr);
  CHECK(a100.peak("fp32")->at(Hertz{705e6}).value == 9.75e12);
}

TEST_CASE("device: the toy device does one operation and moves one byte a second") {
  const Device unit = Hwdb::open()->device("unit").value();
  CHECK(unit.peak("fp32")->rate.value == 1);
  CHECK(unit.peak("fp16_tensor")->rate.value == 1);
  CHECK(unit.bandwidth.value == 1);
}

TEST_CASE("device: a toy may be of any size, but what predictions divide by is above 0") {
  const std::string toy = *Hwdb().read("devices/unit.json");
  const auto with = [&](const std::string& figure, const std::string& value) {
    std::string text = toy;
    const size_t at =
        text.find('"', text.find("\"" + figure + "\": {\"value\":") + figure.size() + 3);
    const size_t begin = text.find(':', at) + 2, end = text.find(',', begin);
    return read_device(text.replace(begin, end - begin, value), "unit.json", "unit");
  };
  CHECK(with("bandwidth", "\"9 B/s\"")->bandwidth.value == 9);
  CHECK(with("sms", "7")->sms == 7);
  CHECK(with("nvlink_links", "0").has_value());
  for (const char* figure : {"bandwidth", "max_clock", "memory_reported", "sms"}) {
    CAPTURE(figure);
    const std::string unit = figure == std::string("bandwidth")   ? "\"0 B/s\""
                             : figure == std::string("max_clock") ? "\"0 Hz\""
                             : figure == std::string("sms")       ? "0"
                                                                  : "\"0 B\"";
    CHECK_FALSE(with(figure, unit).has_value());
  }
}

// Rows C4, C5, C7, C10 of the catalogue of bad inputs.
TEST_CASE("device: bad entries are refused at their line") {
  CHECK(altered("\"8119 MiB\"", "\"8119 MiB\""));
  CHECK(code_of(altered("\"243.3 GB/s\"", "\"0 GB/s\"")) == "E402");
  CHECK(code_of(altered("\"243.3 GB/s\"", "\"-1 GB/s\"")) == "E401");
  CHECK(code_of(altered("\"243.3 GB/s\"", "\"243.3 B/s\"")) == "E402");
  CHECK(code_of(altered("\"243.3 GB/s\"", "\"243300000000000 GB/s\"")) == "E402");
  CHECK(code_of(altered("\"243.3 GB/s\"", "\"243.3\"")) == "E401");
  CHECK(code_of(altered("\"243.3 GB/s\"", "243.3")) == "E311");
  CHECK(code_of(altered("\"5.3 TFLOP/s\"", "\"5.3 TB/s\"")) == "E401");
  CHECK(code_of(altered("\"8119 MiB\"", "\"8G\"")) == "E401");
  CHECK(code_of(altered("\"value\": 14,", "\"value\": 0,")) == "E312");
  CHECK(code_of(altered("\"fp32\"", "\"fp23\"")) == "E306");  // every card has it
  CHECK(code_of(altered("\"fp64\"", "\"fp46\"")) == "E304");
  CHECK(code_of(altered("pascal-gp10x", "pascal")) == "E313");
  CHECK(code_of(altered("\"6.1\"", "\"six\"")) == "E401");
  CHECK(code_of(altered("\"id\": \"quadro-p4000\"", "\"id\": \"Quadro P4000\"")) == "E404");
  CHECK(code_of(altered("\"id\": \"quadro-p4000\"", "\"id\": \"../p4000\"")) == "E404");
  CHECK(code_of(altered("\"id\": \"quadro-p4000\"", "\"id\": \"other\"")) == "E404");
  CHECK(code_of(altered("[\"p4000\"]", "[\"P4000\"]")) == "E404");
  CHECK(code_of(altered("\"version\": 1", "\"version\": 2")) == "E330");
  CHECK(code_of(altered("plimsoll.device", "plimsoll.link")) == "E330");
  const auto no_source = altered(", \"source\": \"NVIDIA, CUDA GPUs: compute capability\"", "");
  REQUIRE_FALSE(no_source);
  CHECK(no_source.error()[0].code == "E306");
  CHECK(no_source.error()[0].place.line == 11);
  CHECK(code_of(altered("NVIDIA, CUDA GPUs: compute capability", "")) == "E405");
  const auto range = altered("\"243.3 GB/s\"", "\"0 GB/s\"");
  REQUIRE_FALSE(range);
  CHECK(range.error()[0].message == "bandwidth is 0 GB/s; plausible is 1 GB/s to 1 PB/s");
  CHECK(range.error()[0].place.file == "own/quadro-p4000.json");
}

TEST_CASE("device: the parts of a card are refused where they are not parts of it") {
  const auto with = [](const std::string& mig) {
    const std::string text = p4000_text();
    return read_device(text.substr(0, text.rfind('}')) + ", \"mig\": " + mig + "}",
                       "own/quadro-p4000.json", "quadro-p4000");
  };
  const auto profile = [&](const std::string& fields) {
    return with(R"({"source": "assumed", "memory_slices": 4, "profiles": [{"name": "1g.2gb", )" +
                fields + "}]}");
  };
  const auto good = profile(R"("sms": 3, "memory_slices": 1)");
  REQUIRE(good);
  CHECK(good->mig.front().memory.value == good->memory_reported.value / 4);
  CHECK(profile(R"("sms": 3, "memory_slices": 1, "memory": "1.9 GiB")"));
  CHECK(code_of(profile(R"("sms": 15, "memory_slices": 1)")) == "E312");
  CHECK(code_of(profile(R"("sms": 3, "memory_slices": 5)")) == "E312");
  CHECK(code_of(profile(R"("sms": 3, "memory_slices": 1, "memory": "1.9 G")")) == "E401");
  CHECK(code_of(profile(R"("sms": 3)")) == "E306");
  CHECK(code_of(profile(R"("sms": 3, "memory_slices": 1, "sm": 3)")) == "E304");
  CHECK(code_of(with("[]")) == "E311");
  // Found by fuzzing: the whole does not say how many slices it has.
  CHECK(code_of(with(R"({"source": "assumed", "profiles": [
    {"name": "1g.2gb", "sms": 3, "memory_slices": 1}]})")) == "E306");
}

TEST_CASE("device: a memory in decimal units is taken and shown back") {
  const auto device = altered("\"8119 MiB\"", "\"24 GB\"");
  REQUIRE(device);
  CHECK(device->memory_reported.value == 24000000000);
  REQUIRE(device->warnings.size() == 1);
  CHECK(device->warnings[0].code == "W401");
  CHECK(device->warnings[0].message == "memory_reported 24 GB = 22.35 GiB");
}
