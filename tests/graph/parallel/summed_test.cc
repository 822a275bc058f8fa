#include "graph/parallel/summed.h"

#include <doctest/doctest.h>

#include <string>

namespace plimsoll::parallel {
namespace {

// "dp+" for a sum along dp that ranks of cp and ep join.
std::string sums(std::initializer_list<std::pair<Axis, int64_t>> extents,
                 std::optional<Placement> part = std::nullopt) {
  ParallelPlan plan;
  for (const auto& [axis, extent] : extents) plan.mesh.extent(axis) = extent;
  std::string text;
  for (const auto& [axis, joined] : sums_of(plan, part)) {
    text += kAxisNames[static_cast<size_t>(axis)];
    text += joined ? "+ " : " ";
  }
  return text;
}

constexpr Placement kExpertPart{Axis::kExpert, 0}, kDataPart{Axis::kData, 0};

}  // namespace

TEST_CASE("summed: along what has samples of its own, one after the other") {
  CHECK(sums({}).empty());
  CHECK(sums({{Axis::kTensor, 4}}).empty());
  CHECK(sums({{Axis::kData, 8}}) == "dp ");
  CHECK(sums({{Axis::kShard, 4}, {Axis::kData, 2}}) == "fsdp dp ");
  CHECK(sums({{Axis::kData, 8}}, kDataPart).empty());
}

TEST_CASE("summed: ranks that share sequences and experts join in") {
  CHECK(sums({{Axis::kContext, 2}}) == "fsdp+ ");
  CHECK(sums({{Axis::kContext, 2}, {Axis::kData, 4}}) == "dp+ ");
  CHECK(sums({{Axis::kExpert, 2}, {Axis::kShard, 4}, {Axis::kData, 2}}) == "fsdp+ dp ");
}

TEST_CASE("summed: experts have fewer ranks that hold them alike") {
  CHECK(sums({{Axis::kExpert, 8}}, kExpertPart).empty());
  CHECK(sums({{Axis::kExpert, 2}, {Axis::kData, 4}}, kExpertPart) == "dp ");
  CHECK(sums({{Axis::kContext, 2}, {Axis::kExpert, 2}}, kExpertPart) == "cp ");
}

}  // namespace plimsoll::parallel
