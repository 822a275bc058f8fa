#include "estimator/answer/trace.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "estimator/app/report/trace.h"
#include "estimator/estimator.h"

namespace plimsoll {
namespace {

Estimate traced() {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  Request request;
  request.model = "builtin:cnn-torres";
  request.devices = {"quadro-p4000"};
  request.batch = 16;
  request.trace = true;
  auto e = estimate(request, *hwdb);
  REQUIRE(e);
  REQUIRE(e->trace);
  return std::move(*e);
}

int64_t total(const BytesByRole& live) {
  return std::accumulate(live.begin(), live.end(), int64_t{0});
}

}  // namespace

TEST_CASE("trace: the highest sample is the peak, launches follow each other") {
  const Estimate e = traced();
  int64_t highest = 0;
  int64_t before = 0;
  for (const TraceSample& s : e.trace->samples) {
    highest = std::max(highest, total(s.live));
    CHECK(s.at_ns >= before);
    before = s.at_ns;
  }
  CHECK(highest == e.memory.live_peak_bytes);
  CHECK(static_cast<int64_t>(e.trace->launches.size()) == e.time.launches);
  for (size_t i = 1; i < e.trace->launches.size(); ++i) {
    const TraceLaunch& last = e.trace->launches[i - 1];
    CHECK(e.trace->launches[i].start_ns == last.start_ns + last.duration_ns);
  }
}

TEST_CASE("trace: Chrome's format has a counter by role and a track per phase") {
  const auto json = nlohmann::json::parse(to_chrome_trace(*traced().trace));
  std::map<std::string, int> kinds;
  for (const auto& event : json.at("traceEvents")) {
    ++kinds[event.at("ph").get<std::string>()];
    if (event.at("ph") == "C") CHECK(event.at("args").contains("parameter"));
  }
  CHECK(kinds["M"] == kPhaseCount);
  CHECK(kinds["X"] > 20);
  CHECK(kinds["C"] > 20);
}

}  // namespace plimsoll
