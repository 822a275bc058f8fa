// `plimsoll-calibrate run` as a program on a card that is none: libraries of the tests' own
// (fake_cuda.cc, fake_cudnn.cc) stand for CUDA's driver, cuDNN, cuBLASLt and NVRTC, with a clock of
// their own.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/calibrate/calibrate_program.h"

using namespace plimsoll::test;
using nlohmann::json;

namespace {

struct FakeGpu {
  Scratch scratch;
  FakeGpu() {
#ifdef PLIMSOLL_FAKE_CUDA
    std::filesystem::create_directory(scratch.path("lib"));
    for (const char* name :
         {"libcuda.so.1", "libcudnn.so.9", "libcublasLt.so.12", "libnvrtc.so.12"})
      std::filesystem::create_symlink(PLIMSOLL_FAKE_CUDNN, scratch.path("lib/") + name);
#endif
  }
  void without(const char* name) const { std::filesystem::remove(scratch.path("lib/") + name); }

  Ran run(std::vector<std::string> more, std::vector<std::string> environment = {}) const {
    std::vector<std::string> arguments = {"run", "--quiet"};
    const auto named = [&](const char* flag) {
      return std::ranges::find(more, flag) != more.end();
    };
    if (!named("--suite") && !named("--model"))
      arguments.insert(arguments.end(), {"--model", "builtin:alexnet", "--batch", "4"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    environment.push_back("PLIMSOLL_CUDNN=" + scratch.path(""));
    environment.push_back("LD_LIBRARY_PATH=" + scratch.path("lib"));
    return run_calibrate(std::move(arguments), std::move(environment));
  }
};

bool cannot_run() {
#ifdef PLIMSOLL_FAKE_CUDA
  return !has_calibrate();
#else
  not_run("built without headers of CUDA's libraries");
  return true;
#endif
}

json kernels_of(const Ran& ran) { return json::parse(ran.out)["result"]["kernels"]; }

}  // namespace

TEST_CASE("cuda card: each kernel is timed in its library, and the rest is said") {
  if (cannot_run()) return;
  const FakeGpu gpu;
  const Ran ran = gpu.run({"--json"});
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  const json report = json::parse(ran.out);
  CHECK(report["result"]["device"] == "tesla-t4");
  CHECK(report["card"]["libraries"][0] == "cuDNN 9.10.2");
  int convolutions = 0, products = 0, moves = 0, fixed = 0, others = 0;
  for (const json& kernel : report["result"]["kernels"]) {
    CAPTURE(kernel.dump());
    const std::string of = kernel["class"];
    if (kernel["measured_ns"].is_null()) {
      ++others;
      CHECK_FALSE(kernel["skipped"].get<std::string>().empty());
    } else if (of == "conv") {
      ++convolutions;
      CHECK(kernel["measured_ns"].get<double>() == doctest::Approx(20'000).epsilon(.001));
      CHECK(kernel["workspace_bytes"] == 4);
      CHECK(kernel["offers"] == 2);
    } else if (of == "gemm") {
      ++products;
      CHECK(kernel["measured_ns"].get<double>() == doctest::Approx(30'000).epsilon(.001));
      CHECK(kernel["algorithm"] == "cublaslt 7 tile 7 stages 7 split 7");
    } else if (of == "pool" || of == "softmax") {
      ++fixed;
      const bool pool = of == "pool", forward = says(kernel["kernel"], " forward ");
      CHECK(kernel["measured_ns"].get<double>() == doctest::Approx(!pool     ? 50'000
                                                                   : forward ? 40'000
                                                                             : 80'000)
                                                       .epsilon(.001));
      CHECK(kernel["algorithm"] == (pool ? "cudnn_pooling" : "cudnn_softmax"));
    } else {
      ++moves;
      CHECK(kernel["measured_ns"].get<double>() == doctest::Approx(10'000).epsilon(.001));
      CHECK(kernel["algorithm"] == "move");
    }
  }
  CHECK(convolutions == 14);  // five, in three passes but for the image's gradient
  CHECK(products > 5);
  CHECK(moves > 10);
  CHECK(fixed == 10);  // four pools and a log_softmax, both ways
  CHECK(others == 0);
}

namespace {

// Times of a class by algorithm, and why others have none.
struct OfClass {
  std::map<std::string, double> ns;
  std::set<std::string> skipped;
};
OfClass of_class(const Ran& ran, const std::string& wanted) {
  OfClass found;
  for (const json& kernel : kernels_of(ran)) {
    if (kernel["class"] != wanted) continue;
    if (kernel["measured_ns"].is_null()) {
      found.skipped.insert(kernel["skipped"].get<std::string>());
    } else {
      found.ns[kernel["algorithm"].get<std::string>()] = kernel["measured_ns"].get<double>();
    }
  }
  return found;
}

}  // namespace

TEST_CASE("cuda card: batch norms, recurrent layers and look-ups run as frameworks call them") {
  if (cannot_run()) return;
  const FakeGpu gpu;
  const Ran resnet = gpu.run({"--json", "--model", "builtin:resnet50", "--batch", "4"});
  CAPTURE(resnet.err);
  REQUIRE(resnet.status == 0);
  const OfClass norms = of_class(resnet, "norm");
  CHECK(norms.ns.at("cudnn_spatial") == doctest::Approx(60'000).epsilon(.001));
  CHECK(norms.skipped.empty());
  for (const json& kernel : kernels_of(resnet)) {
    if (kernel["class"] == "norm") CHECK(kernel["workspace_bytes"] > 0);
  }
  // Version 9 has the lengths in a descriptor, 8.9.0 wants them on the card.
  for (const char* version : {"91002", "8900"}) {
    const Ran lstm = gpu.run({"--json", "--model", "builtin:lstm-lm", "--batch", "4"},
                             {std::string("FAKE_CUDNN_VERSION=") + version});
    CAPTURE(lstm.err);
    REQUIRE(lstm.status == 0);
    const OfClass layers = of_class(lstm, "recurrent");
    CHECK(layers.ns.at("standard") == doctest::Approx(70'000).epsilon(.001));
    CHECK(layers.skipped.empty());
    CHECK(of_class(lstm, "gather").ns.at("gather") == doctest::Approx(10'000).epsilon(.001));
  }
  // PyTorch takes cuDNN's on Hopper, of dropout at rates that are sixteenths alone.
  const Ran gpt = gpu.run({"--json", "--model", "builtin:gpt2", "--batch", "1", "--precision",
                           "amp-fp16", "--gpu", "h100", "--cudnn", "9.19", "--set", "dropout=0"});
  CAPTURE(gpt.err);
  REQUIRE(gpt.status == 0);
  CHECK(of_class(gpt, "attention").ns.at("cudnn_attention_12") ==
        doctest::Approx(20'000).epsilon(.001));
  // Elsewhere cuDNN's stands in for the framework's own.
  const Ran own = gpu.run({"--json", "--model", "builtin:bert-base", "--batch", "1", "--precision",
                           "amp-fp16", "--gpu", "h100"});
  CAPTURE(own.err);
  REQUIRE(own.status == 0);
  CHECK(of_class(own, "attention").ns.at("cudnn_attention_12") ==
        doctest::Approx(20'000).epsilon(.001));
  const Ran single = gpu.run({"--json", "--model", "builtin:bert-base", "--batch", "1"});
  CAPTURE(single.err);
  CHECK(single.status == 0);
  CHECK_FALSE(of_class(single, "attention").skipped.empty());
  const OfClass layer_norms = of_class(gpt, "norm");
  CHECK(layer_norms.ns.at("cudnn_layer_norm_12") == doctest::Approx(20'000).epsilon(.001));
  CHECK(layer_norms.skipped.empty());
  const std::string out = gpu.scratch.path("lstm.jsonl");
  REQUIRE(gpu.run({"--model", "builtin:lstm-lm", "--batch", "4", "--out", out}).status == 0);
  const Ran validated = run_plimsoll({"validate", out, "--allow-skipped", "--json"});
  CAPTURE(validated.err);
  CHECK(validated.status == 0);
  std::set<std::string> compared;
  const json lines = json::parse(validated.out)["records"];
  for (const json& line : lines) {
    if (line["skipped"].is_null()) compared.insert(line["op"].get<std::string>());
  }
  CHECK(compared.contains("rnn"));
  CHECK(compared.contains("gather"));
  CHECK(compared.contains("softmax"));
}

TEST_CASE("cuda card: cuDNN 7, and 8 on cards before Turing, run convolutions by their own calls") {
  if (cannot_run()) return;
  const FakeGpu gpu;
  const auto algorithms = [&](std::vector<std::string> environment) {
    const Ran ran = gpu.run({"--json", "--gpu", "p100"}, std::move(environment));
    CAPTURE(ran.err);
    REQUIRE(ran.status == 0);
    const OfClass convolutions = of_class(ran, "conv");
    CHECK(convolutions.skipped.empty());
    return convolutions.ns;
  };
  const std::map<std::string, double> legacy = {{"winograd", 25'000},
                                                {"winograd_nonfused", 25'000}};
  for (const char* version : {"FAKE_CUDNN_VERSION=8900", "FAKE_CUDNN_VERSION=7605"}) {
    const auto found = algorithms({version, "FAKE_CUDA_CAPABILITY=60"});
    REQUIRE(found.size() == 2);
    for (const auto& [name, ns] : legacy)
      CHECK(found.at(name) == doctest::Approx(ns).epsilon(.001));
  }
  // On Turing, and by cuDNN 9 everywhere, the graph's plans.
  for (const char* other : {"FAKE_CUDNN_VERSION=8900", "FAKE_CUDA_CAPABILITY=60"}) {
    for (const auto& [name, ns] : algorithms({other}))
      CHECK(ns == doctest::Approx(20'000).epsilon(.001));
  }
}

TEST_CASE("cuda card: what was recorded of it answers as it did") {
  if (cannot_run()) return;
  const FakeGpu gpu;
  const std::string record = gpu.scratch.path("record.jsonl");
  const Ran ran = gpu.run({"--json", "--record", record});
  REQUIRE(ran.status == 0);
  const Ran replayed = run_calibrate(
      {"replay", record, "--model", "builtin:alexnet", "--batch", "4", "--quiet", "--json"});
  CAPTURE(replayed.err);
  CHECK(replayed.status == 0);
  CHECK(json::parse(replayed.out) == json::parse(ran.out));
}

TEST_CASE("cuda card: faults in libraries and want of memory cost their kernels alone") {
  if (cannot_run()) return;
  const FakeGpu gpu;
  const auto skipped = [](const Ran& ran, const std::string& of, const std::string& words) {
    CAPTURE(ran.err);
    CHECK(ran.status == 0);
    int with = 0, others = 0;
    for (const json& kernel : kernels_of(ran)) {
      if (kernel["class"] != of) {
        others += kernel["measured_ns"].is_null() ? 0 : 1;
      } else if (kernel.contains("skipped") && says(kernel["skipped"], words)) {
        ++with;
      }
    }
    CHECK(others > 10);
    return with;
  };
  CHECK(skipped(gpu.run({"--json"}, {"FAKE_CUDNN_FAIL_AT=4"}), "conv", "cuDNN: execute") == 14);
  CHECK(skipped(gpu.run({"--json"}, {"FAKE_CUDNN_CRASH_AT=4"}), "conv", "crashed (Aborted)") == 14);
  // The largest product's 151 MB fit in neither.
  CHECK(skipped(gpu.run({"--json", "--mem", "100MiB"}), "gemm", "it needs ") >= 1);
  CHECK(skipped(gpu.run({"--json", "--mem", "1GiB"}, {"FAKE_CUDA_MEMORY=200000000"}), "gemm",
                "out of memory") >= 1);
}

TEST_CASE("cuda card: figures of the card come with a suite, and become its machine's file") {
  if (cannot_run()) return;
  const FakeGpu gpu;
  const std::string out = gpu.scratch.path("out.jsonl");
  const Ran ran = gpu.run({"--suite", "quick", "--out", out});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK(says(ran.out, "pinned_copy"));
  CHECK(says(ran.out, "launch_back_to_back          10.0 us"));
  CHECK(says(ran.out, "cudnn_handle_bytes           64.0 MiB"));
  CHECK(says(ran.out, "cudnn_modules_bytes          32.0 MiB"));
  CHECK(says(ran.out, "cublas_modules_bytes         8.0 MiB"));
  const std::string machine = gpu.scratch.path("machine.json");
  const Ran fitted = run_calibrate({"fit", out, "--out", machine});
  CAPTURE(fitted.err);
  CHECK(fitted.status == 0);
  CHECK(says(fitted.out, "cuDNN's plans of "));
  CHECK(says(fitted.out, "copies from and to the host, launches, cores"));
  const json file = json::parse(std::ifstream(machine));
  CHECK_FALSE(file.contains("memory"));
  CHECK(file["host"]["cores"]["value"] >= 1);
  CHECK(file["host"]["dispatch"][0]["framework"] == "ideal");
  const Ran used = run_plimsoll({"estimate", "builtin:resnet50", "--batch", "32", "--gpu", "t4",
                                 "--machine", machine, "--basis"});
  CAPTURE(used.err);
  CHECK(used.status == 0);
  CHECK(says(used.out, "convolutions as listed by cuDNN 9.10.2 on this GPU"));
}

TEST_CASE("cuda card: what is missing is said with what brings it, and nothing is written") {
  if (cannot_run()) return;
  const FakeGpu gpu;
  const std::string out = gpu.scratch.path("out.jsonl");
  const auto fails = [&](const Ran& ran, const std::string& words) {
    CAPTURE(ran.err);
    CHECK(ran.status == 4);
    CHECK(says(ran.err, words));
    CHECK_FALSE(std::filesystem::exists(out));
  };
  fails(gpu.run({"--out", out}, {"FAKE_CUDA_GPUS=0"}), "no CUDA-capable device is detected");
  fails(gpu.run({"--out", out, "--gpu-index", "3"}), "there is no GPU 3: this machine has 1");
  gpu.without("libcublasLt.so.12");
  fails(gpu.run({"--out", out}), "pip install nvidia-cublas-cu12");
  gpu.without("libcudnn.so.9");
  fails(gpu.run({"--out", out}), "has no libcudnn.so");
}
