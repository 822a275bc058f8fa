#include "hwdb/releases.h"

#include <doctest/doctest.h>

using namespace plimsoll;

namespace {

ReleaseFact fact(std::string_view product, std::string_view version) {
  const auto found = find_release(Hwdb(), product, *parse_version(version));
  REQUIRE(found);
  return *found;
}

}  // namespace

TEST_CASE("releases: what there is, what may come, what never was") {
  CHECK(fact("cudnn", "7.6.5").state == ReleaseState::kKnown);
  CHECK(fact("cudnn", "9").state == ReleaseState::kKnown);
  CHECK(fact("cudnn", "97.3").state == ReleaseState::kUnknown);
  CHECK(fact("cudnn", "6.7").nearest == "6.0");
  CHECK(fact("cuda", "55").state == ReleaseState::kUnknown);
  CHECK(fact("cuda", "0.1").nearest == "5.0");
  CHECK(fact("pytorch", "9").state == ReleaseState::kUnknown);
  CHECK(fact("pytorch", "3.0").state == ReleaseState::kNewer);
  CHECK(fact("pytorch", "1.14").nearest == "1.13");
  CHECK(fact("caffe", "77").state == ReleaseState::kKnown);
}
