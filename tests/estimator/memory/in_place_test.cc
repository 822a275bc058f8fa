#include "estimator/memory/in_place.h"

#include <doctest/doctest.h>

#include "estimator/bound_step.h"
#include "estimator/estimator.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

size_t shared_by(const std::string& model, InPlaceHabit habit) {
  const Request request = test::request(model, "a100-sxm-40gb");
  const Hwdb hwdb = *Hwdb::open();
  const Platform platform = *find_platform(hwdb, request, request.devices[0]);
  const CompiledModel compiled = *compile(request, platform);
  const BoundStep bound = *plimsoll::bind(compiled.step, compiled.binding);
  const auto taken = storage_taken(compiled.graph, compiled.step, bound.buffer_bytes, habit);
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
  // ResNet-18: 17 ReLUs and 8 sums, all on feature maps.
  CHECK(shared_by("builtin:resnet18", InPlaceHabit::kImageModels) == 25);
  // MobileNetV2's sums are of linear bottlenecks and written x + conv(x); ReLU6 keeps its input.
  CHECK(shared_by("builtin:mobilenet_v2", InPlaceHabit::kImageModels) == 0);
  CHECK(shared_by("builtin:resnet18", InPlaceHabit::kNever) == 0);
}

TEST_CASE("in place: transformers and perceptrons are written out of place") {
  CHECK(shared_by("builtin:bert-base", InPlaceHabit::kImageModels) == 0);
  CHECK(shared_by("builtin:mlp", InPlaceHabit::kImageModels) == 0);
}

TEST_CASE("in place: static frameworks do so wherever an input dies") {
  CHECK(shared_by("builtin:mlp", InPlaceHabit::kElementwise) > 0);
  CHECK(shared_by("builtin:resnet18", InPlaceHabit::kActivations) == 17);
  CHECK(shared_by("builtin:mobilenet_v2", InPlaceHabit::kElementwise) >
        shared_by("builtin:mobilenet_v2", InPlaceHabit::kImageModels));
}
