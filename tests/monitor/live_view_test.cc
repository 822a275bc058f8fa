#include "monitor/live_view.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/support/samples.h"

using namespace plimsoll::monitor;
using plimsoll::test::host_sample;
using plimsoll::test::kMebibyte;

namespace {

std::string shown(LiveView& view, const Sample& sample, const Summary& so_far,
                  std::vector<BandWatch::Crossing> crossings = {}) {
  return view.next({.sample = sample, .so_far = so_far, .crossings = std::move(crossings)});
}

int lines_in(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("without a terminal: a line each second, later every ten") {
  LiveView view({}, "pid 40 train");
  const Summary summary;
  int early = 0, late = 0;
  for (int i = 0; i < 600; ++i) {
    const std::string text = shown(view, host_sample(0.1 * i, 100), summary);
    CHECK(text.find('\x1b') == std::string::npos);
    (i < 100 ? early : late) += lines_in(text);
  }
  CHECK(early == 10);
  CHECK(late == 5);
}

TEST_CASE("a terminal has one screen, drawn in place and cut to its width") {
  LiveView view({.screen = true, .columns = 40}, "pid 40 train\x1b[2J");
  const Summary summary;
  const std::string first = shown(view, host_sample(0, 100), summary);
  CHECK(first.find('\x1b') == std::string::npos);  // what a name holds is made harmless
  const std::string second = shown(view, host_sample(0.3, 100), summary);
  CHECK(second.starts_with(fmt::format("\x1b[{}A\x1b[J", lines_in(first))));
  for (size_t at = 0; at < first.size();) {
    const size_t end = first.find('\n', at);
    CHECK(end - at < 40);
    at = end + 1;
  }
  CHECK(shown(view, host_sample(0.4, 100), summary).empty());
}

TEST_CASE("leaving the prediction is told at once") {
  LiveView view({}, "");
  Summary summary;
  summary.band = Band{.device = Predicted{100, {90, 110}}};
  shown(view, host_sample(0, 100), summary);
  const std::string text =
      shown(view, host_sample(0.1, 100), summary, {{.to = BandPlace::kAbove, .bytes = 120}});
  CHECK(text.find("! GPU memory 120 B is above the predicted range 100 B (90 B - 110 B)") !=
        std::string::npos);
}
