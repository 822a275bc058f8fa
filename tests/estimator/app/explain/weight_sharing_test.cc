#include "estimator/app/explain/weight_sharing.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/evaluator.h"
#include "estimator/request/find_platform.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

// Of the fourth block's multilayer perceptron, the weights that several GPUs share.
std::vector<WeightSharing> of_block(const Request& request) {
  const auto platform = find_platform(test::hwdb(), request, request.devices.front());
  REQUIRE(platform);
  const auto model = compile(request, *platform);
  REQUIRE(model);
  std::vector<WeightSharing> all;
  for (NodeId id = 0; id < model->graph.nodes.size(); ++id) {
    if (model->graph.nodes[id].module.find("layers.3.mlp") == std::string::npos) continue;
    for (WeightSharing& one : weight_sharing(*model, id)) all.push_back(std::move(one));
  }
  return all;
}

Request llama() { return test::request("hf:llama-3.2-1b", "h100-sxm-80gb", 1); }

}  // namespace

TEST_CASE("weight sharing: one GPU shares nothing") { CHECK(of_block(llama()).empty()); }

TEST_CASE("weight sharing: part of the work along tp, of that part of what is kept, by unit") {
  Request request = llama();
  request.gpu_count = 8;
  request.parallel.fsdp = true;
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 2;
  const auto shared = of_block(request);
  REQUIRE(shared.size() == 3);  // gate, up and down
  CHECK(shared.front().computed_along == "tp");
  CHECK(shared.front().computed_by == 2);
  CHECK(shared.front().kept_along == "fsdp");
  CHECK(shared.front().kept_by == 4);
  CHECK(shared.front().gathered);
  CHECK(shared.front().unit == "model.layers.3");
}

TEST_CASE("weight sharing: stage 2 of ZeRO gathers nothing for a unit") {
  Request request = llama();
  request.gpu_count = 4;
  request.parallel.zero = 2;
  const auto shared = of_block(request);
  REQUIRE(shared.size() == 3);  // gate, up and down
  CHECK(shared.front().kept_along == "dp");
  CHECK(shared.front().kept_by == 4);
  CHECK_FALSE(shared.front().gathered);
}

}  // namespace plimsoll
