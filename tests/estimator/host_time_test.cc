// What the machine around the card adds to a step, asked as a user asks.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimator/estimator.h"
#include "estimator/request/find_platform.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

// A host whose single thread has that speed.
class Rated {
 public:
  explicit Rated(double speed) {
    scratch_.write("rated.json",
                   fmt::format(R"({{"schema": "plimsoll.host", "version": 1, "id": "rated",
                     "name": "Rated", "single_thread": {{"value": {}, "source": "test"}}}})",
                               speed));
  }
  std::string file() const { return scratch_.path("rated.json"); }

 private:
  test::Scratch scratch_;
};

TimeEstimate time_on(Request request, double speed) {
  const Rated host(speed);
  request.host = host.file();
  return test::answer(request).time;
}

double width(const TimeEstimate& t) {
  return std::log(static_cast<double>(t.step_range_ns.high) /
                  static_cast<double>(t.step_range_ns.low));
}

TEST_CASE("host: twice as fast halves launches, the step's own part and the loader's") {
  Request request = test::request("builtin:densenet121", "h100", 1);
  request.workers = 0;
  const TimeEstimate slow = time_on(request, .5), fast = time_on(request, 1);
  CHECK(slow.step_ns > fast.step_ns);
  CHECK(slow.host_bound);
  CHECK(slow.host_ns == doctest::Approx(2.0 * static_cast<double>(fast.host_ns)).epsilon(1e-6));
  CHECK(slow.framework_ns ==
        doctest::Approx(2.0 * static_cast<double>(fast.framework_ns)).epsilon(1e-6));
  CHECK(slow.input_copy_ns == fast.input_copy_ns);
  const int64_t sample = 13000;  // its bytes are filled in as fast as before
  CHECK(slow.loader_ns - fast.loader_ns ==
        doctest::Approx(static_cast<double>(sample)).epsilon(.01));
}

// Batch 1 as published: ResNet-50 takes 10.4 ms on a V100 in fp32 and 12.8 in AMP, which only its
// launches do (NVIDIA/DeepLearningExamples, PyTorch/Classification/ConvNets; its GPU needs 3). A
// T4's step in fp32 takes the GPU about as long as the host, and nothing published says which.
TEST_CASE("host: a pass of one image waits for it on V100, T4 and RTX 3090") {
  for (const std::string gpu : {"v100", "t4", "rtx-3090"}) {
    CAPTURE(gpu);
    for (const Mode mode : {Mode::kInference, Mode::kTrain}) {
      Request request = test::request("builtin:resnet50", gpu, 1);
      request.recipe.mode = mode;
      if (gpu != "t4" || mode == Mode::kInference) CHECK(test::answer(request).time.host_bound);
      request.recipe.precision = find_precision("amp-fp16");
      CHECK(test::answer(request).time.host_bound);
      request.batch = 256;
      CHECK_FALSE(test::answer(request).time.host_bound);
    }
  }
}

TEST_CASE("host: the range of one that nobody named holds those from half to twice as fast") {
  Request request = test::request("builtin:resnet18", "a100", 1);
  const TimeEstimate unknown = test::answer(request).time;
  REQUIRE(unknown.host_bound);
  for (const double speed : {.5, .7, 1., 1.5, 2.}) {
    CAPTURE(speed);
    const TimeEstimate named = time_on(request, speed);
    CHECK(named.step_ns >= unknown.step_range_ns.low);
    CHECK(named.step_ns <= unknown.step_range_ns.high);
    CHECK(width(named) < width(unknown));
  }
}

TEST_CASE("loader: PyTorch's own process adds to the step, processes of their own do not") {
  Request request = test::request("builtin:resnet18", "v100", 128);
  const auto step = [&](std::optional<int64_t> workers, std::optional<LoaderKind> kind) {
    request.workers = workers;
    request.loader = kind;
    return test::answer(request).time.step_ns;
  };
  const int64_t without = step({}, {});
  CHECK(step(0, {}) > without);
  CHECK(step(4, {}) < step(0, {}));
  CHECK(step({}, LoaderKind::kMemory) > without);
  CHECK(step({}, LoaderKind::kTransform) > step({}, LoaderKind::kConvert));
  CHECK(step(0, LoaderKind::kNone) == without);
  CHECK(test::answer(request).time.loader == "none");
}

TEST_CASE("loader: what reading files takes is in the range, of any framework, and said") {
  Request request = test::request("builtin:resnet18", "v100", 128);
  for (const char* framework : {"pytorch", "caffe2"}) {
    request.framework = framework;
    request.loader = {};
    const TimeEstimate ready = test::answer(request).time;
    request.loader = LoaderKind::kFiles;
    const TimeEstimate read = test::answer(request).time;
    CHECK(read.loader == "files");
    CHECK(read.step_ns == ready.step_ns);
    CHECK(read.step_range_ns.low == ready.step_range_ns.low);
    CHECK(read.step_range_ns.high > ready.step_range_ns.high);
  }
}

TEST_CASE("loader: TensorFlow's threads load beside the step") {
  Request request = test::request("builtin:cnn-torres", "v100", 32);
  request.loader = LoaderKind::kConvert;
  const int64_t pytorch = test::answer(request).time.step_ns;
  request.framework = "tensorflow-2.2";
  const TimeEstimate tensorflow = test::answer(request).time;
  CHECK(tensorflow.loader_ns == 0);
  CHECK(tensorflow.step_ns < pytorch);
}

TEST_CASE("loader: a small network on a fast card waits for its input") {
  Request request = test::request("builtin:squeezenet1_1", "h100", 256);
  request.recipe.mode = Mode::kInference;
  request.recipe.precision = find_precision("amp-fp16");
  request.workers = 0;
  CHECK(test::answer(request).time.input_bound);
}

TEST_CASE("framework: without a version, the newest that came with the CUDA that is given") {
  Request request = test::request("builtin:resnet18", "titan-xp", 32);
  const auto profile = [&](const char* cuda) {
    request.cuda = cuda;
    return find_platform(Hwdb::open().value(), request, "titan-xp")->framework.id;
  };
  CHECK(profile("8.0") == "pytorch-1.4");
  CHECK(profile("10.2") == "pytorch-1.13");
  CHECK(profile("12.8") == "pytorch-2");
  request.framework = "pytorch-2";
  CHECK(profile("8.0") == "pytorch-2");
}

}  // namespace
// A detector's proposals in short: a layer that works on the host for each image.
TEST_CASE("host: a layer that runs there makes the device wait, as long as its thread is slow") {
  const auto model = [](const char* host_ns) {
    return fmt::format(
        R"({{"schema": "plimsoll.model-config", "version": 1, "name": "n",
             "parameters": {{"batch": 4}}, "inputs": [{{"name": "x", "shape": ["batch", 64]}}],
             "layers": [{{"name": "a", "type": "linear", "out": 64, "host_ns": {}}},
                        {{"name": "b", "type": "linear", "out": 10}}], "loss": "sum"}})",
        host_ns);
  };
  const test::Scratch scratch;
  const auto framework_ns = [&](const char* host_ns, double speed, int64_t passes) {
    Request request = test::request(scratch.write("m.json", model(host_ns)), "t4");
    request.recipe.accumulate = passes;
    return time_on(request, speed).framework_ns;
  };
  const int64_t without = framework_ns("0", 1, 1);
  CHECK(framework_ns("5000000", 1, 1) == without + 5000000);
  CHECK(framework_ns("\"2000000*batch\"", 1, 1) == without + 8000000);
  CHECK(framework_ns("5000000", .5, 1) ==
        doctest::Approx(2. * static_cast<double>(without + 5000000)));
  CHECK(framework_ns("5000000", 1, 3) == framework_ns("0", 1, 3) + 15000000);
  const Request request = test::request(scratch.write("m.json", model("5000000")), "t4");
  const Estimate e = test::answer(request);
  CHECK(std::ranges::any_of(e.basis, [](const std::string& line) {
    return line.find("layers that run on the host") != std::string::npos;
  }));
}

}  // namespace plimsoll
