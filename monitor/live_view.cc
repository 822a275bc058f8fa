#include "monitor/live_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "graph/base/text.h"
#include "monitor/text.h"

namespace plimsoll::monitor {
namespace {

constexpr double kScreenEvery = 0.25, kLineEvery = 1, kLaterEvery = 10, kLater = 10;  // seconds

// Lines that would wrap would be counted wrongly.
std::string cut(std::string_view text, size_t columns, size_t& lines) {
  std::string out;
  lines = 0;
  while (!text.empty()) {
    out += take_part(text, '\n').substr(0, columns - 1);
    out += '\n';
    ++lines;
  }
  return out;
}

}  // namespace

Terminal terminal_of(int descriptor) {
  const char* kind = std::getenv("TERM");
  winsize size{};
  if (::isatty(descriptor) == 0 || kind == nullptr || std::string_view(kind) == "dumb" ||
      ::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col < 2)
    return {};
  return {.screen = true, .columns = size.ws_col};
}

std::string LiveView::next(const Observation& o) {
  std::string text;
  const double now = o.sample.seconds;
  for (const auto& crossing : o.crossings) text += to_text(crossing, now, *o.so_far.band);
  if (!text.empty()) drawn_ = 0;  // they stay, and the screen goes on below
  if (now + 1e-9 < due_ && text.empty()) return {};
  Sample sample = o.sample;
  const double cpu = sample.host.cpu_seconds;
  if (now > shown_at_) sample.cpu_share = (cpu - shown_cpu_) / (now - shown_at_);
  shown_at_ = now;
  shown_cpu_ = cpu;
  if (!terminal_.screen) {
    due_ = now + (now < kLater ? kLineEvery : kLaterEvery);
    return text + line(sample, o.so_far.band) + "\n";
  }
  due_ = now + kScreenEvery;
  if (drawn_ > 0) text += fmt::format("\x1b[{}A\x1b[J", drawn_);
  return text + cut(screen(sample, o.so_far, head_), terminal_.columns, drawn_);
}

}  // namespace plimsoll::monitor
