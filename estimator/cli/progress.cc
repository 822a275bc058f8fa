#include "estimator/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "estimator/report/human.h"

namespace plimsoll::cli {
namespace {

using std::chrono::steady_clock;

constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

Progress::Progress(std::string what, int64_t all, When when)
    : what_(std::move(what)),
      all_(all),
      terminal_(::isatty(STDERR_FILENO) == 1),
      begun_(steady_clock::now()),
      said_(begun_) {
  shown_ = when == When::kAlways || (when == When::kAuto && terminal_);
}

Progress::~Progress() {
  if (told_ && terminal_) fmt::print(stderr, "{}", kEraseLine);
}

void Progress::at(int64_t done, int64_t skipped) {
  if (!shown_) return;
  const auto now = steady_clock::now();
  if (now - said_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::seconds(5))) return;
  said_ = now;
  told_ = true;
  const double spent = std::chrono::duration<double>(now - begun_).count();
  const double rate = static_cast<double>(done - skipped) / spent;
  std::string left;
  if (rate > 0) {
    constexpr double kNanoseconds = 1e9;
    const double seconds = static_cast<double>(all_ - done) / rate;
    left = fmt::format(", {} a second, {} left", human_number(rate),
                       human_time(static_cast<int64_t>(kNanoseconds * seconds)));
  }
  fmt::print(stderr, "{}{} {} of {}{}{}", terminal_ ? kEraseLine : "", what_, done, all_, left,
             terminal_ ? "" : "\n");
}

}  // namespace plimsoll::cli
