#include "estimator/step/distinct_kernels.h"

#include <doctest/doctest.h>

#include "estimator/estimator.h"
#include "estimator/request/find_platform.h"
#include "estimator/step/bound_step.h"
#include "tests/support/requests.h"

using namespace plimsoll;

TEST_CASE("distinct kernels: those that recipes share are one, and each step finds its own") {
  const Hwdb hwdb = *Hwdb::open();
  // Convolutions of any image; attention of any sequence; recurrent layers.
  for (const char* model : {"densenet121", "bert-base", "lstm-lm"}) {
    CAPTURE(model);
    Request request = test::request(std::string("builtin:") + model, "quadro-p4000");
    std::vector<CompiledModel> recipes;
    for (const OptimizerRow* optimizer : {find_optimizer("sgd"), find_optimizer("adam")}) {
      for (const int64_t accumulate : {1, 4}) {
        request.recipe.optimizer = optimizer;
        request.recipe.accumulate = accumulate;
        recipes.push_back(*compile(request, *find_platform(hwdb, request, "quadro-p4000")));
      }
    }
    DistinctKernels distinct;
    std::vector<std::vector<size_t>> which;
    size_t all = 0;
    for (const CompiledModel& recipe : recipes) {
      which.push_back(distinct.add(recipe.step));
      all += recipe.step.kernels.size();
    }
    CHECK(distinct.size() < all / 2);
    CHECK(distinct.add(recipes[0].step) == which[0]);  // nothing new

    std::vector<Binding> points(3, recipes[0].binding);
    for (size_t p = 0; p < points.size(); ++p)
      points[p][recipes[0].batch_symbol] = static_cast<int64_t>(10 + p);
    std::vector<std::vector<KernelAt>> kernels;
    const auto done = distinct.at(points, [&](std::span<const KernelAt> kernel) {
      REQUIRE(kernel.size() == points.size());
      kernels.emplace_back(kernel.begin(), kernel.end());
    });
    CHECK(done);
    REQUIRE(kernels.size() == distinct.size());
    for (size_t r = 0; r < recipes.size(); ++r) {
      for (size_t p = 0; p < points.size(); ++p) {
        const BoundStep alone = *bind_step(recipes[r].step, points[p]);
        REQUIRE(alone.kernels.size() == which[r].size());
        for (KernelId id = 0; id < alone.kernels.size(); ++id)
          CHECK(kernels[which[r][id]][p] == alone.kernels[id]);
      }
    }
  }
}

TEST_CASE("distinct kernels: bound at no point where one of them cannot be") {
  const Dim batch = Dim::symbol("batch");
  Step step;
  step.kernels.push_back({.op = "relu", .flop = batch, .problem = RowsProblem<Dim>{1, batch * 3}});
  step.kernels.push_back({.op = "relu", .flop = batch * (int64_t{1} << 40)});
  DistinctKernels distinct;
  CHECK(distinct.add(step) == std::vector<size_t>{0, 1});
  const auto never = [](std::span<const KernelAt>) { CHECK(false); };
  const auto code_at = [&](const std::vector<Binding>& points) {
    const auto done = distinct.at(points, never);
    REQUIRE_FALSE(done);
    return done.error().front().code;
  };
  CHECK(code_at({{{"batch", 9}}, {}}) == "E131");
  CHECK(code_at({{{"batch", 9}}, {{"batch", int64_t{1} << 40}}}) == "E232");
  size_t used = 0;
  CHECK(distinct.at(std::vector<Binding>{{{"batch", 9}}}, [&](std::span<const KernelAt> kernel) {
    REQUIRE(kernel.size() == 1);
    CHECK(kernel[0].flop == (used++ == 0 ? 9 : int64_t{9} << 40));
  }));
  CHECK(used == 2);
}
