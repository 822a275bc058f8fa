#include "estimator/memory/allocator/options.h"

#include <doctest/doctest.h>

using namespace plimsoll;

TEST_CASE("allocator options: PyTorch's own spelling") {
  const auto rules =
      caching_rules("expandable_segments:True,max_split_size_mb:128,roundup_power2_divisions:4");
  REQUIRE(rules);
  CHECK(rules->expandable_segments);
  CHECK(rules->max_split_size == int64_t{128} << 20);
  CHECK(rules->roundup_power2_divisions == 4);
  const auto none = caching_rules("");
  REQUIRE(none);
  CHECK_FALSE(none->expandable_segments);
  CHECK_FALSE(none->max_split_size);
}

TEST_CASE("allocator options: what PyTorch refuses, or what is not modelled, is refused") {
  for (const char* text :
       {"expandable_segments", "expandable_segments:yes", "max_split_size_mb:20",
        "max_split_size_mb:1e3", "max_split_size_mb:-5", "max_split_size_mb:99999999999999999999",
        "roundup_power2_divisions:3", "roundup_power2_divisions:[256:1,512:2]",
        "garbage_collection_threshold:0.8", "backend:cudaMallocAsync", ":", "x:1"}) {
    CAPTURE(text);
    const auto rules = caching_rules(text);
    REQUIRE_FALSE(rules);
    CHECK(rules.error().front().code == "E161");
  }
}
