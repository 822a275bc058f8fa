#include "estimator/behaviour/autograd.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "estimator/request/find_platform.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

Recipe recipe_on(const std::string& framework, Recipe recipe = {}) {
  Request request;
  request.devices = {"tesla-v100-sxm2-16gb"};
  request.framework = framework;
  const auto platform = find_platform(test::hwdb(), request, request.devices.front());
  REQUIRE(platform);
  return recipe_for(*platform, std::move(recipe));
}

}  // namespace

TEST_CASE("recipe: before 2.0 PyTorch keeps gradients and updates parameter by parameter") {
  CHECK(recipe_on("pytorch-1.13").zero_grad == ZeroGrad::kKeep);
  CHECK(recipe_on("pytorch-1.13").optimizer->name == "momentum-loop");
  CHECK(recipe_on("pytorch-2.1").zero_grad == ZeroGrad::kNone);
  CHECK(recipe_on("pytorch-2.1").optimizer->name == "momentum");
  CHECK(recipe_on("chainer").optimizer->name == "momentum");
  CHECK(recipe_on("caffe").zero_grad == ZeroGrad::kNone);
}

TEST_CASE("recipe: what is given holds, and an optimizer without a loop is as it is") {
  Recipe asked;
  asked.zero_grad = ZeroGrad::kNone;
  asked.optimizer = find_optimizer("lamb");
  const Recipe recipe = recipe_on("pytorch-1.4", asked);
  CHECK(recipe.zero_grad == ZeroGrad::kNone);
  CHECK(recipe.optimizer->name == "lamb");
}

// pytorch/pytorch#104898 is of 2.1.
TEST_CASE("recipe: PyTorch 2.0 takes one more list for Adam's denominators") {
  Recipe asked;
  for (const char* name : {"adam", "adamw"}) {
    asked.optimizer = find_optimizer(name);
    CHECK(recipe_on("pytorch-2.0", asked).optimizer->name == std::string(name) + "-2.0");
    CHECK(recipe_on("pytorch-2.0.1", asked).optimizer->name == std::string(name) + "-2.0");
    CHECK(recipe_on("pytorch-2.1", asked).optimizer->name == name);
    CHECK(recipe_on("pytorch", asked).optimizer->name == name);
    CHECK(recipe_on("pytorch-1.13", asked).optimizer->name == std::string(name) + "-loop");
  }
  asked.optimizer = find_optimizer("momentum");
  CHECK(recipe_on("pytorch-2.0", asked).optimizer->name == "momentum");
}

}  // namespace plimsoll
