#include "hwdb/measured/meter.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

using namespace plimsoll;

namespace {

Result<MeterReading> reading(MeterForm form, const std::string& text,
                             std::optional<int64_t> steps = std::nullopt) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return read_meter(ByteSource::of("meter", {bytes, bytes + text.size()}), form, steps);
}

std::map<std::string, double> figures(MeterForm form, const std::string& text,
                                      std::optional<int64_t> steps = std::nullopt) {
  const auto read = reading(form, text, steps);
  REQUIRE_MESSAGE(read, read.error().front().message);
  std::map<std::string, double> all;
  for (const Measurement& m : read->measured) all[m.name] = m.value;
  return all;
}

std::string fault(MeterForm form, const std::string& text,
                  std::optional<int64_t> steps = std::nullopt) {
  const auto read = reading(form, text, steps);
  return read ? "" : read.error().front().code;
}

// As torch.cuda.memory_summary(abbreviated=True) of PyTorch 2.15 prints statistics of 2913.25 and
// 3204 MiB: it rounds down.
const std::string kSummary = R"(
|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 0                 |
|---------------------------------------------------------------------------|
|            CUDA OOMs: 0            |        cudaMalloc retries: 0         |
|===========================================================================|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      | 205312 KiB |   2913 MiB |  91233 MiB |  91032 MiB |
|---------------------------------------------------------------------------|
| Active memory         | 205312 KiB |   2913 MiB |  91233 MiB |  91032 MiB |
|---------------------------------------------------------------------------|
| GPU reserved memory   |   3204 MiB |   3204 MiB |   3204 MiB |      0 B   |
|---------------------------------------------------------------------------|
| GPU reserved segments |     400    |     900    |    4000    |    3600    |
|===========================================================================|
)";

// Two blocks of 1000 and 2 Mi bytes are live; before, one of 3 Mi bytes was, beside the first. The
// segment of 20 Mi was mapped before the history began.
const std::string kSnapshot = R"({
  "segments": [
    {"device": 0, "address": 1, "total_size": 2097152, "segment_type": "small", "blocks": [
      {"address": 1, "size": 1024, "requested_size": 1000, "state": "active_allocated"},
      {"address": 1025, "size": 2096128, "requested_size": 0, "state": "inactive"}]},
    {"device": 0, "address": 9, "total_size": 20971520, "segment_type": "large", "blocks": [
      {"address": 9, "size": 2097152, "requested_size": 2097152, "state": "active_allocated"},
      {"address": 10, "size": 4096, "requested_size": 4096, "state": "active_awaiting_free"},
      {"address": 11, "size": 18870272, "requested_size": 0, "state": "inactive"}]}],
  "device_traces": [[
    {"action": "alloc", "addr": 9, "size": 3145728, "stream": 0},
    {"action": "segment_alloc", "addr": 1, "size": 2097152, "stream": 0},
    {"action": "alloc", "addr": 1, "size": 1000, "stream": 0},
    {"action": "free_requested", "addr": 9, "size": 3145728, "stream": 0},
    {"action": "free_completed", "addr": 9, "size": 3145728, "stream": 0},
    {"action": "segment_alloc", "addr": 99, "size": 1048576, "stream": 0},
    {"action": "segment_free", "addr": 99, "size": 1048576, "stream": 0},
    {"action": "alloc", "addr": 9, "size": 2097152, "stream": 0},
    {"action": "snapshot", "addr": 0, "size": 0, "stream": 0}], []]})";

const std::string kNsys =
    "Processing [step.sqlite] with [/opt/nsys/reports/cuda_gpu_kern_sum.py]...\n"
    "\n"
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
    "62.5,50000000,20,2500000.0,2500000.0,2400000,2600000,100.0,\"void gemm<float, 1>(int, int)\"\n"
    "37.5,30000000,40,750000.0,750000.0,700000,800000,10.0,elementwise\n";

}  // namespace

TEST_CASE("meter: PyTorch's summary, of its peaks") {
  const auto peaks = figures(MeterForm::kSummary, kSummary);
  CHECK(peaks.at("peak_allocated_mb") == 2913);
  CHECK(peaks.at("peak_reserved_mb") == 3204);
  CHECK(peaks.size() == 2);
  // Of a log with one of each epoch the largest holds.
  std::string later = kSummary;
  later.replace(later.find("|   2913 MiB"), 12, "|      3 GiB");
  CHECK(figures(MeterForm::kSummary, kSummary + later + kSummary).at("peak_allocated_mb") == 3072);
  std::string other = kSummary;
  other.replace(other.find("device ID 0"), 11, "device ID 1");
  CHECK(fault(MeterForm::kSummary, kSummary + other) == "E532");
  CHECK(fault(MeterForm::kSummary, "epoch 1 done\n") == "E531");
  CHECK(fault(MeterForm::kSummary, "| Allocated memory | 1 MiB | lots | 1 MiB | 1 MiB |") ==
        "E531");
}

TEST_CASE("meter: PyTorch's snapshot, back from its last state") {
  const auto peaks = figures(MeterForm::kSnapshot, kSnapshot);
  // 3 Mi bytes and a block of 1000, of two granules; segments of 20, 2 and 1 Mi.
  CHECK(peaks.at("peak_allocated_mb") == doctest::Approx(3 + 1024 / 1048576.0).epsilon(1e-12));
  CHECK(peaks.at("peak_reserved_mb") == 23);
}

TEST_CASE("meter: a snapshot without a history knows its segments alone") {
  const std::string text =
      kSnapshot.substr(0, kSnapshot.find("\"device_traces\"")) + "\"device_traces\": [[]]}";
  const auto read = reading(MeterForm::kSnapshot, text);
  REQUIRE(read);
  REQUIRE(read->measured.size() == 1);
  CHECK(read->measured[0].name == "peak_reserved_mb");
  CHECK(read->measured[0].value == 22);
  CHECK(read->notes.at(0).code == "N521");
}

TEST_CASE("meter: a pickle is refused, and what is no snapshot") {
  for (const MeterForm form : {MeterForm::kSnapshot, MeterForm::kSummary, MeterForm::kNvidiaSmi}) {
    CHECK(fault(form, "\x80\x04\x95") == "E530");
    CHECK(fault(form, "PK\x03\x04") == "E530");
  }
  CHECK(fault(MeterForm::kSnapshot, "{}") == "E306");
  CHECK(fault(MeterForm::kSnapshot, R"({"segments": []})") == "E531");
  CHECK(fault(MeterForm::kSnapshot, R"({"segments": [{"total_size": "1", "blocks": []}]})") ==
        "E311");
  CHECK(fault(MeterForm::kSnapshot,
              R"({"segments": [{"device": 0, "total_size": 8, "blocks": []},
                               {"device": 1, "total_size": 8, "blocks": []}]})") == "E532");
}

TEST_CASE("meter: nvidia-smi, of one process or one card") {
  const auto process = [](const std::string& text) {
    return figures(MeterForm::kNvidiaSmi, text).at("nvidia_smi_mb");
  };
  CHECK(process("pid, used_gpu_memory [MiB]\n41, 3300 MiB\n41, 3412 MiB\n41, 3410 MiB\n") == 3412);
  CHECK(process("used_gpu_memory [MiB]\n3300\n[N/A]\n") == 3300);  // nounits
  const auto card = reading(MeterForm::kNvidiaSmi,
                            "timestamp, name, index, memory.used [MiB], utilization.gpu [%]\n"
                            "2026/11/25 10:00:00.000, Tesla T4, 0, 812 MiB, 3 %\n"
                            "2026/11/25 10:00:01.000, Tesla T4, 0, 5120 MiB, 99 %\n");
  REQUIRE(card);
  CHECK(card->device == "Tesla T4");
  CHECK(card->measured.at(0).name == "device_used_mb");
  CHECK(card->measured.at(0).value == 5120);
  CHECK(fault(MeterForm::kNvidiaSmi, "pid, used_gpu_memory [MiB]\n1, 5 MiB\n2, 6 MiB\n") == "E532");
  CHECK(fault(MeterForm::kNvidiaSmi, "index, memory.used [MiB]\n0, 5 MiB\n1, 6 MiB\n") == "E532");
  CHECK(fault(MeterForm::kNvidiaSmi, "41, 3412 MiB\n41, 3412 MiB\n") == "E531");  // noheader
  CHECK(fault(MeterForm::kNvidiaSmi, "pid, used_gpu_memory [MiB]\n41, much\n") == "E512");
  CHECK(fault(MeterForm::kNvidiaSmi, "pid, used_gpu_memory [MiB]\n41, 3 GiB\n") == "E512");
  CHECK(fault(MeterForm::kNvidiaSmi, "pid, used_gpu_memory [MiB]\n41\n") == "E511");
  CHECK(fault(MeterForm::kNvidiaSmi, "pid, used_gpu_memory [MiB]\n41, [N/A]\n") == "E531");
}

TEST_CASE("meter: nvidia-smi, of several cards by whatever tells them apart") {
  for (const char* text :
       {"name, memory.used [MiB]\nTesla T4, 1234 MiB\nNVIDIA A100-SXM4-40GB, 9999 MiB\n",
        "pci.bus_id, memory.used [MiB]\n00:1E.0, 5 MiB\n00:1F.0, 6 MiB\n",
        "pid, gpu_uuid, used_gpu_memory [MiB]\n7, GPU-1, 5 MiB\n7, GPU-2, 6 MiB\n",
        "pid, gpu_name, used_gpu_memory [MiB]\n7, Tesla T4, 5 MiB\n7, NVIDIA L4, 6 MiB\n",
        "timestamp, memory.used [MiB]\n10:00:00.0, 5 MiB\n10:00:00.0, 6 MiB\n"}) {
    CAPTURE(text);
    CHECK(fault(MeterForm::kNvidiaSmi, text) == "E532");
  }
  const auto untold = reading(MeterForm::kNvidiaSmi, "memory.used [MiB]\n5 MiB\n6 MiB\n");
  REQUIRE(untold);
  CHECK(untold->notes.at(0).code == "N522");
}

TEST_CASE("meter: nvidia-smi, in the unit of its header") {
  const auto mebibytes = [](const std::string& text) {
    return figures(MeterForm::kNvidiaSmi, text).at("device_used_mb");
  };
  CHECK(mebibytes("index, memory.used [GiB]\n0, 3\n") == 3072);
  CHECK(mebibytes("index, memory.used [GiB]\n0, 1.5 GiB\n") == 1536);
  CHECK(mebibytes("index, memory.used [KiB]\n0, 2048\n") == 2);
  CHECK(mebibytes("index, memory.used\n0, 2048\n") == 2048);
  CHECK(fault(MeterForm::kNvidiaSmi, "index, memory.used [pages]\n0, 3\n") == "E531");
  CHECK(fault(MeterForm::kNvidiaSmi, "index, memory.used [GiB]\n0, 3 MiB\n") == "E512");
}

TEST_CASE("meter: nsys, over the steps that it saw") {
  CHECK(figures(MeterForm::kNsys, kNsys, 10).at("gpu_ms") == 8);
  CHECK(fault(MeterForm::kNsys, kNsys) == "E108");
  std::string milliseconds = kNsys;
  milliseconds.replace(milliseconds.find("Total Time (ns)"), 15, "Total Time (ms)");
  CHECK(fault(MeterForm::kNsys, milliseconds, 10) == "E531");
  CHECK(fault(MeterForm::kNsys, "Operation,Count\nmemcpy,3\n", 1) == "E531");
}

TEST_CASE("meter: nvprof, each kernel's share of all kernels' time") {
  const std::string table =
      "==7== NVPROF is profiling process 7, command: python train.py\n"
      "==7== Profiling result:\n"
      "\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n"
      ",%,ms,,us,us,us,\n"
      "\"GPU activities\",40,60.0,20,1,1,1,\"void cudnn::detail::bn_fw_tr_1C11_kernel_new"
      "<float, 512>(float, int)\"\n"
      "\"GPU activities\",20,30.0,20,1,1,1,\"void cudnn::detail::bn_fw_tr_1C11_kernel_new"
      "<float, 256>(float, int)\"\n"
      "\"GPU activities\",20,30.0,20,1,1,1,\"[CUDA memcpy HtoD]\"\n"
      "\"GPU activities\",20,30.0,40,1,1,1,\"maxwell_sgemm_128x64_nn\"\n"
      "\"API calls\",90,900.0,80,1,1,1,\"cudaLaunch\"\n";
  const auto shares = figures(MeterForm::kNvprof, table);
  CHECK(shares.size() == 2);
  CHECK(shares.at("kernel_share_pct bn_fw_tr_1C11_kernel_new") == doctest::Approx(75));
  CHECK(shares.at("kernel_share_pct maxwell_sgemm_128x64_nn") == doctest::Approx(25));
  const auto counted = figures(MeterForm::kNvprof, table, 10);
  CHECK(counted.at("gpu_ms") == doctest::Approx(12));
  CHECK(counted.size() == 3);
  // Before CUDA 9 what the host calls has a table of its own.
  const std::string header = "\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"\n";
  const std::string older = header + "%,us,,us,us,us,\n100,500,1,1,1,1,\"relu\"\n\n" +
                            "==7== API calls:\n" + header + "%,ms,,us,us,us,\n" +
                            "100,9,1,1,1,1,\"cudaLaunch\"\n";
  CHECK(figures(MeterForm::kNvprof, older, 1).at("gpu_ms") == doctest::Approx(.5));
  CHECK(fault(MeterForm::kNvprof, "index,memory.used\n0,1\n") == "E531");
  CHECK(fault(MeterForm::kNvprof, header + "%,fortnights,,us,us,us,\n") == "E531");
  CHECK(fault(MeterForm::kNvprof, header + "%,ms,,us,us,us,\n1,2\n") == "E511");
  CHECK(fault(MeterForm::kNvprof, header + "%,ms,,us,us,us,\n1,much,1,1,1,1,relu\n") == "E512");
  CHECK(fault(MeterForm::kNvprof, header + "%,ms,,us,us,us,\n1,inf,1,1,1,1,relu\n") == "E512");
  CHECK(fault(MeterForm::kNvprof, header + "%,ms,,us,us,us,\n") == "E531");
}

TEST_CASE("meter: a kernel's bare name") {
  CHECK(bare_kernel_name("void cudnn::detail::bn_fw<float, int=512>(float const *)") == "bn_fw");
  CHECK(bare_kernel_name("cuda::detail::bn_fw") == "bn_fw");
  CHECK(bare_kernel_name("maxwell_sgemm_128x64_nn") == "maxwell_sgemm_128x64_nn");
}

TEST_CASE("meter: nvidia-smi, where a name alone does not tell cards apart") {
  for (const char* text :
       {"name, memory.used [MiB]\nTesla T4, 100 MiB\nTesla T4, 200 MiB\n",
        "name, pid, used_memory [MiB]\nTesla T4, 7, 100 MiB\nTesla T4, 7, 200 MiB\n",
        "pid, used_memory [MiB]\n7, 100 MiB\n7, 200 MiB\n"}) {
    CAPTURE(text);
    const auto read = reading(MeterForm::kNvidiaSmi, text);
    REQUIRE(read);
    REQUIRE(read->notes.size() == 1);
    CHECK(read->notes[0].code == "N522");
  }
  // At one time a card has one reading.
  for (const char* text :
       {"timestamp, name, memory.used [MiB]\n9:00, Tesla T4, 100 MiB\n9:00, Tesla T4, 200 MiB\n",
        "timestamp, memory.used [MiB]\n9:00, 100 MiB\n9:00, 200 MiB\n",
        "timestamp, pid, used_memory [MiB]\n9:00, 7, 100 MiB\n9:00, 7, 200 MiB\n"}) {
    CAPTURE(text);
    CHECK(fault(MeterForm::kNvidiaSmi, text) == "E532");
  }
  const auto alone = reading(MeterForm::kNvidiaSmi, "name, memory.used [MiB]\nTesla T4, 100 MiB\n");
  REQUIRE(alone);
  CHECK(alone->notes.empty());
}
