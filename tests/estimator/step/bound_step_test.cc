#include "estimator/step/bound_step.h"

#include <doctest/doctest.h>

#include "estimator/estimator.h"
#include "estimator/request/find_platform.h"
#include "tests/support/requests.h"

using namespace plimsoll;

TEST_CASE("bound step: a binder gives at every point what binding there gives") {
  const Hwdb hwdb = *Hwdb::open();
  // Convolutions of any image; attention of any sequence; recurrent layers.
  for (const char* model : {"densenet121", "bert-base", "lstm-lm"}) {
    CAPTURE(model);
    const Request request = test::request(std::string("builtin:") + model, "quadro-p4000");
    const CompiledModel compiled = *compile(request, *find_platform(hwdb, request, "quadro-p4000"));
    StepBinder binder(compiled.step);
    Binding binding = compiled.binding;
    for (const int64_t batch : {7, 64, 64, 7}) {
      binding[compiled.batch_symbol] = batch;
      const auto bound = binder(binding);
      REQUIRE(bound);
      const BoundStep alone = *bind_step(compiled.step, binding);
      CHECK((*bound)->buffer_bytes == alone.buffer_bytes);
      CHECK((*bound)->kernels == alone.kernels);
    }
  }
}

TEST_CASE("bound step: a binder fails as binding does, and can go on") {
  const Dim batch = Dim::symbol("batch");
  Step step;
  step.buffers.push_back({.bytes = batch * (int64_t{1} << 40)});
  step.buffers.push_back({.bytes = Dim(5) - batch});
  step.kernels.push_back({.op = "relu", .flop = batch, .problem = RowsProblem<Dim>{1, batch * 3}});
  StepBinder binder(step);
  const auto unbound = binder({});
  REQUIRE_FALSE(unbound);
  CHECK(unbound.error().front().code == "E131");
  const auto large = binder({{"batch", int64_t{1} << 40}});
  REQUIRE_FALSE(large);
  CHECK(large.error().front().code == "E232");
  const auto bound = binder({{"batch", 9}});
  REQUIRE(bound);
  CHECK_FALSE(binder({{"batch", int64_t{1} << 40}}));
  CHECK_FALSE(binder({{"batch", int64_t{1} << 40}}));
  REQUIRE(binder({{"batch", 9}}));
  CHECK((*bound)->buffer_bytes == std::vector<int64_t>{int64_t{9} << 40, 0});
  CHECK(std::get<RowsProblem<int64_t>>((*bound)->kernels[0].problem) ==
        RowsProblem<int64_t>{1, 27});
}
