// Frameworks' habits as the allocator sees them.
#include "estimator/memory/replay_input.h"

#include <doctest/doctest.h>

#include "estimator/estimator.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

MemoryEstimate memory_of(const std::string& model, const std::string& framework, Mode mode,
                         int64_t batch, bool benchmark = false,
                         const std::string& gpu = "titan-x-pascal") {
  static const Hwdb kHwdb = *Hwdb::open();
  Request request = test::request("builtin:" + model, gpu, batch);
  request.framework = framework;
  request.recipe.mode = mode;
  if (benchmark) request.cudnn_benchmark = true;
  const auto e = estimate(request, kHwdb);
  REQUIRE(e);
  return e->memory;
}

int64_t bytes_per_image(const std::string& model, const std::string& framework) {
  const auto at = [&](int64_t batch) {
    return memory_of(model, framework, Mode::kInference, batch).reserved_bytes;
  };
  return (at(64) - at(32)) / 32;
}

constexpr double kBytesPerMiB = 1 << 20;

}  // namespace

TEST_CASE("replay input: Caffe keeps every blob, and three more for each batch norm") {
  // ResNet-50 by hand: 42.4 MiB of convolutions, four times; 21.05 of sums, the pool and its mask.
  const double per_image = static_cast<double>(bytes_per_image("resnet50", "caffe")) / kBytesPerMiB;
  CHECK(per_image == doctest::Approx(4 * 42.4 + 21.05 + 2 * 0.766).epsilon(0.03));
}

// src/caffe/layers/pooling_layer.cu: positions are whole numbers of four bytes.
TEST_CASE("replay input: VGG-16's blobs in Caffe") {
  // 51.7 MiB of convolutions, ReLU in place; 5.84 of pools and as much of their masks; three times
  // the image, in use, fetched ahead and arriving; 0.03 of the fully connected. DLInfBench measured
  // 63.8 a picture.
  const double per_image = static_cast<double>(bytes_per_image("vgg16", "caffe")) / kBytesPerMiB;
  CHECK(per_image == doctest::Approx(51.7 + 2 * 5.84 + 3 * 0.574 + 0.03).epsilon(0.01));
}

TEST_CASE("replay input: Caffe2 keeps blobs, MXNet plans, PyTorch frees") {
  const int64_t caffe2 = bytes_per_image("resnet50", "caffe2");
  CHECK(static_cast<double>(caffe2) / kBytesPerMiB ==
        doctest::Approx(2 * 42.4 + 21.05).epsilon(0.04));
  CHECK(bytes_per_image("resnet50", "mxnet") < caffe2 / 5);
  CHECK(bytes_per_image("resnet50", "pytorch-1.4") < caffe2 / 5);
}

// Most of a forward pass may work in place: then the step has more buffers than events.
TEST_CASE("replay input: where nearly all works in place") {
  for (const char* framework : {"mxnet", "theano", "tensorflow-1", "ideal"}) {
    CAPTURE(framework);
    CHECK(memory_of("rcnn-c4", framework, Mode::kInference, 1).live_peak_bytes > 0);
  }
}

TEST_CASE("replay input: gradients of feature maps have blobs of their own, or take turns") {
  static const Hwdb kHwdb = *Hwdb::open();
  const auto reserved = [](const std::string& framework, const std::string& widths, int64_t batch) {
    Request request = test::request("builtin:mlp", "titan-x-pascal", batch);
    request.framework = framework;
    request.settings = {{"features", "256"}, {"widths", widths}};
    const auto e = estimate(request, kHwdb);
    REQUIRE(e);
    return e->memory.reserved_bytes;
  };
  // What four more layers add to an image.
  const auto added = [&](const std::string& framework) {
    const auto per_image = [&](const std::string& widths) {
      return (reserved(framework, widths, 2048) - reserved(framework, widths, 1024)) / 1024;
    };
    return per_image("256,256,256,256,256,256,256,256") - per_image("256,256,256,256");
  };
  constexpr int64_t kLayer = 4 * 256 * 4;  // four layers of 256 numbers, ReLU in place
  CHECK(added("caffe2") == 3 * kLayer);    // and the gradients of product and ReLU
  CHECK(added("detectron") == kLayer);
}

TEST_CASE("replay input: timing plans is seen by the allocator, later steps are steady") {
  const auto tf = memory_of("vgg16", "tensorflow-1.15", Mode::kTrain, 16);
  CHECK(tf.steady_allocated_bytes < tf.allocated_peak_bytes);
  // MXNet's library times with memory of its own.
  const auto mxnet = memory_of("vgg16", "mxnet", Mode::kTrain, 16);
  CHECK(mxnet.steady_allocated_bytes == mxnet.allocated_peak_bytes);
}

TEST_CASE("replay input: timed problems empty PyTorch's cache, so that later holes differ") {
  const auto plain = memory_of("resnet18", "pytorch", Mode::kTrain, 64);
  const auto timed = memory_of("resnet18", "pytorch", Mode::kTrain, 64, true);
  CHECK(timed.reserved_bytes != plain.reserved_bytes);
  CHECK(timed.saved_bytes == plain.saved_bytes);
}

// The most that PyTorch's allocator gave out on an H100 in autotuned first steps at batch 64, and
// what it kept after them (calibrate/measure/networks.py), in MiB.
TEST_CASE("replay input: what timing plans takes is given back") {
  struct Measured {
    const char* model;
    double first, kept;
  };
  for (const Measured& m : {Measured{"resnet50", 10412.2, 6850},
                            {"densenet121", 8960.5, 9076},
                            {"mobilenet_v2", 5784.3, 5538}}) {
    CAPTURE(m.model);
    const auto timed = memory_of(m.model, "pytorch", Mode::kTrain, 64, true, "h100-sxm-80gb");
    CHECK(static_cast<double>(timed.timing_peak_bytes) / kBytesPerMiB ==
          doctest::Approx(m.first).epsilon(.02));
    CHECK(static_cast<double>(timed.reserved_bytes) / kBytesPerMiB ==
          doctest::Approx(m.kept).epsilon(.05));
    CHECK(timed.allocated_peak_bytes <= timed.reserved_bytes);
    CHECK(timed.allocated_peak_bytes == timed.steady_allocated_bytes);
    const auto plain = memory_of(m.model, "pytorch", Mode::kTrain, 64, false, "h100-sxm-80gb");
    CHECK(plain.timing_peak_bytes == 0);
  }
}

TEST_CASE("replay input: what lies in other streams has pools of its own") {
  const auto reserved = [](Stream stream) {
    constexpr int64_t kBytes = 30 << 20;
    CompiledModel model;
    model.step.buffers = {{.bytes = kBytes, .stream = stream}, {.bytes = kBytes}};
    for (const BufferId id : {0, 1}) {
      model.step.events.push_back({Event::Kind::kAllocate, Phase::kForward, id, kNoNode});
      model.step.events.push_back({Event::Kind::kFree, Phase::kForward, id, kNoNode});
    }
    const BoundStep bound = bind_step(model.step, {}).value();
    const ReplayInput input =
        replay_input(model, bound, WorkspacePlan{}, AllocatorBehaviour{}, std::nullopt, {0, 1});
    return device_memory(input, CachingRules{}, {})->reserved_bytes;
  };
  CHECK(reserved(Stream::kCompute) == 30 << 20);
  CHECK(reserved(Stream::kGather) == 60 << 20);
}
