// What is kept in the host's memory, as a flag says it.
#include "estimator/settings/offload_value.h"

#include <doctest/doctest.h>

#include "estimator/settings/setting_row.h"

using namespace plimsoll;

TEST_CASE("offload: words are joined, and none excludes the others") {
  const SettingRow& row = *find_setting("offload");
  Request request;
  REQUIRE(read_offload(row, "states, activations", request));
  CHECK(request.parallel.offload.states);
  CHECK(request.parallel.offload.activations);
  CHECK_FALSE(request.parallel.offload.parameters);
  REQUIRE(read_offload(row, "none", request));
  CHECK_FALSE(request.parallel.offload.states);
  for (const char* text : {"none,states", "states,none", "none,none"}) {
    CAPTURE(text);
    const auto read = read_offload(row, text, request);
    REQUIRE_FALSE(read);
    CHECK(read.error().front().code == "E114");
  }
}
