#include "graph/ir/kernel.h"

#include <doctest/doctest.h>

using namespace plimsoll;

namespace {

const Dim kBatchSize = Dim::symbol("batch"), kTurns = Dim::symbol("target");

}  // namespace

TEST_CASE("kernel: a loop's product has the rows of one turn, and turns for the rest") {
  Kernel kernel{
      .kernel_class = KernelClass::kGemm, .op = "mm", .flop = kBatchSize * kTurns * 2 * 3 * 4};
  kernel.problem = GemmProblem<Dim>{.m = kBatchSize * kTurns, .n = 3, .k = 4};
  take_turns(kernel, "target");
  const auto& one = std::get<GemmProblem<Dim>>(kernel.problem);
  CHECK(one.m == kBatchSize);
  CHECK(one.n == Dim(3));
  CHECK(one.k == Dim(4));
  CHECK_FALSE(one.accumulate);
  CHECK(kernel.turns == kTurns);
  CHECK(kernel.flop == kBatchSize * kTurns * 24);  // of all turns
}

TEST_CASE("kernel: what a loop sums over its turns is carried from one to the next") {
  Kernel kernel{.kernel_class = KernelClass::kGemm, .op = "mm"};
  kernel.problem = GemmProblem<Dim>{.m = 4, .n = 3, .k = kBatchSize * kTurns, .a_t = true};
  take_turns(kernel, "target");
  const auto& one = std::get<GemmProblem<Dim>>(kernel.problem);
  CHECK(one.k == kBatchSize);
  CHECK(one.accumulate);
}

TEST_CASE("kernel: rows in a loop, and what is no loop's body") {
  Kernel rows{.kernel_class = KernelClass::kSoftmax, .op = "softmax"};
  rows.problem = RowsProblem<Dim>{kBatchSize * kTurns, Dim::symbol("source")};
  take_turns(rows, "target");
  CHECK(std::get<RowsProblem<Dim>>(rows.problem).rows == kBatchSize);
  CHECK(std::get<RowsProblem<Dim>>(rows.problem).columns == Dim::symbol("source"));
  CHECK(rows.turns == kTurns);
  Kernel pool{.kernel_class = KernelClass::kPool, .op = "max_pool"};
  pool.problem = PoolProblem<Dim>{.n = kBatchSize * kTurns, .c = 8};
  take_turns(pool, "target");
  CHECK(std::get<PoolProblem<Dim>>(pool.problem).n == kBatchSize);
  CHECK(pool.turns == kTurns);
  Kernel whole{.kernel_class = KernelClass::kRecurrent, .op = "recurrent"};
  whole.problem = RecurrentProblem<Dim>{.timesteps = kTurns};
  take_turns(whole, "target");
  CHECK(whole.turns == Dim(1));
}
