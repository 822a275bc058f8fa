#include "estimator/model/model_cache.h"

#include <doctest/doctest.h>

#include <utility>

#include "estimator/behaviour/autograd.h"
#include "estimator/request/find_platform.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

// How many events the models have that a cache compiles for what it is asked.
class Counted {
 public:
  Counted()
      : request_(test::request("builtin:mlp", "tesla-t4")),
        policy_(policy_for(*find_platform(test::hwdb(), request_, "tesla-t4"), request_)) {
    request_.batch.reset();
  }

  size_t at(int64_t batch) {
    const auto entry = cache_.at(request_, request_.recipe, policy_, {{"batch", batch}});
    REQUIRE(entry);
    const CompiledModel& model = (*entry)->model;
    CHECK(batch_at(model, binding_at(model, {{"batch", batch}})) == batch);
    return cache_.events();
  }

  Request& request() { return request_; }
  Policy& policy() { return policy_; }
  ModelCache& cache() { return cache_; }

 private:
  Request request_;
  Policy policy_;
  ModelCache cache_;
};

}  // namespace

TEST_CASE("model cache: a model is compiled once for batches that lead to the same decisions") {
  Counted counted;
  const size_t one = counted.at(4);
  CHECK(one > 0);
  CHECK(counted.at(64) == one);
  counted.cache().clear();
  CHECK(counted.cache().events() == 0);
  CHECK(counted.at(64) == one);
}

TEST_CASE("model cache: another policy, recipe or request is another model") {
  Counted counted;
  size_t known = counted.at(4);
  const auto is_new = [&] {
    const size_t before = std::exchange(known, counted.at(4));
    return known > before;
  };
  CHECK_FALSE(is_new());
  counted.policy().sums_in_place = !counted.policy().sums_in_place;
  CHECK(is_new());
  counted.request().recipe.accumulate = 2;
  CHECK(is_new());
  counted.request().settings["batch_norm"] = "1";
  CHECK(is_new());
  CHECK_FALSE(is_new());
}

TEST_CASE("model cache: a size that the model does not have is refused and kept nowhere") {
  Counted counted;
  const auto refused = counted.cache().at(counted.request(), counted.request().recipe,
                                          counted.policy(), {{"batch", 4}, {"nothing", 3}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "E113");
  CHECK(counted.cache().events() == 0);
}
