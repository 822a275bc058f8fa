#include "estimator/app/explain/figure_gap.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/requests.h"

using namespace plimsoll;

TEST_CASE("figure gap: the steps between two figures add up to what they differ by") {
  const Estimate e = test::answer(test::request("builtin:resnet50", "tesla-t4", 32));
  for (const NamedFigure& one : named_figures()) {
    for (const NamedFigure& other : named_figures()) {
      CAPTURE(std::string(one.name));
      CAPTURE(std::string(other.name));
      const auto gap = figure_gap(e, one.name, other.name);
      CHECK(gap.has_value() == (one.name != other.name && one.of_time == other.of_time));
      if (!gap) continue;
      int64_t sum = gap->inner_amount;
      for (const FigureStep& step : gap->steps) {
        CHECK(!step.why.empty());
        sum += step.amount;
      }
      CHECK(sum == gap->outer_amount);
    }
  }
  const auto gap = figure_gap(e, "nvidia-smi", "allocated");
  REQUIRE(gap);
  CHECK(gap->inner_amount == e.memory.allocated_peak_bytes);
  CHECK(gap->outer_amount == e.memory.device_bytes);
  REQUIRE(gap->steps.size() == 2);
  CHECK(gap->steps[1].amount == e.memory.context_bytes);
}

TEST_CASE("figure gap: names that are none") {
  const Estimate e = test::answer(test::request("builtin:alexnet", "tesla-t4", 8));
  CHECK(figure_gap(e, "alocated", "reserved").error().front().code == "E106");
  CHECK(figure_gap(e, "reserved", "reserved").error().front().code == "E114");
  CHECK(figure_gap(e, "reserved", "step").error().front().code == "E112");
}
