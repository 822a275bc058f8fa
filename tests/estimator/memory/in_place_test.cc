#include "estimator/memory/in_place.h"

#include <doctest/doctest.h>

#include "estimator/estimator.h"
#include "estimator/request/find_platform.h"
#include "estimator/step/bound_step.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

using namespace plimsoll;

namespace {

size_t shared_by(const std::string& model, InPlaceReuse reuse) {
  const Request request = test::request(model, "a100-sxm-40gb");
  const Hwdb hwdb = *Hwdb::open();
  const Platform platform = *find_platform(hwdb, request, request.devices[0]);
  const CompiledModel compiled = *compile(request, platform);
  const BoundStep bound = *bind_step(compiled.step, compiled.binding);
  const auto taken = storage_taken(compiled.graph, compiled.step, bound.buffer_bytes, reuse);
  size_t shared = 0;
  for (BufferId id = 0; id < taken.size(); ++id) {
    if (taken[id] == id) continue;
    ++shared;
    CHECK(bound.buffer_bytes[taken[id]] == bound.buffer_bytes[id]);
  }
  return shared;
}

}  // namespace

TEST_CASE("in place: image models overwrite with ReLU and with the sum before it") {
  const size_t shared = shared_by("builtin:resnet-variant", InPlaceReuse::kImageModels);
  // timm's seresnet50: 33 ReLUs on maps that nobody else reads and 16 sums before one.
  CHECK(shared >= 49);
  CHECK(shared_by("builtin:resnet-variant", InPlaceReuse::kNever) == 0);
}

TEST_CASE("in place: a number for each channel is no branch that a sum joins") {
  const test::Scratch scratch;
  const std::string model = scratch.write("shifted.json", R"({
    "schema": "plimsoll.model-config", "version": 1, "name": "shifted", "parameters": {"batch": 2},
    "inputs": [{"name": "x", "shape": ["batch", 3, 8, 8]}],
    "layers": [
      {"name": "numbers", "type": "buffer", "shape": [3], "dtype": "f32"},
      {"name": "shifts", "type": "reshape", "shape": [1, -1, 1, 1]},
      {"name": "conv", "type": "conv2d", "out": 3, "kernel": 1, "input": "x"},
      {"name": "sum", "type": "add", "inputs": ["conv", "shifts"]},
      {"name": "act", "type": "relu"}]})");
  CHECK(shared_by(model, InPlaceReuse::kImageModels) == 1);  // the ReLU
}

TEST_CASE("in place: transformers and perceptrons are written out of place") {
  CHECK(shared_by("builtin:bert-base", InPlaceReuse::kImageModels) == 0);
  CHECK(shared_by("builtin:mlp", InPlaceReuse::kImageModels) == 0);
}

TEST_CASE("in place: static frameworks do so wherever an input dies") {
  CHECK(shared_by("builtin:mlp", InPlaceReuse::kActivations) > 0);
  CHECK(shared_by("builtin:mobilenet_v2", InPlaceReuse::kElementwise) >
        shared_by("builtin:mobilenet_v2", InPlaceReuse::kActivations));
}

TEST_CASE("in place: what one step leaves is what the next one lets go of") {
  Step step;
  for (const int64_t bytes : {512, 512, 1024, 512}) step.buffers.push_back({.bytes = bytes});
  step.buffers[3].stream = Stream::kReduce;
  const auto add = [&](Event::Kind kind, BufferId id, NodeId node) {
    step.events.push_back({.kind = kind, .phase = Phase::kForward, .id = id, .node = node});
  };
  add(Event::Kind::kAllocate, 0, kNoNode);  // left by the step before
  add(Event::Kind::kAllocate, 3, kNoNode);  // and in another stream
  add(Event::Kind::kFree, 0, 0);
  add(Event::Kind::kAllocate, 2, 0);
  add(Event::Kind::kAllocate, 1, 0);
  add(Event::Kind::kFree, 3, 0);
  add(Event::Kind::kFree, 2, kNoNode);
  add(Event::Kind::kFree, 1, kNoNode);
  CHECK(carried_over(step, {512, 512, 1024, 512}) ==
        std::vector<BufferId>{1, kNoBuffer, kNoBuffer, kNoBuffer});
}
