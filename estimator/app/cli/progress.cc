#include "estimator/app/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "estimator/app/cli/messages.h"
#include "estimator/app/report/human.h"

namespace plimsoll::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

Progress::Progress(std::string what, int64_t all, When when)
    : what_(std::move(what)),
      all_(all),
      terminal_(::isatty(STDERR_FILENO) == 1),
      begun_(steady_clock::now()),
      said_(begun_) {
  shown_ = when == When::kAlways || (when == When::kAuto && terminal_ && !is_listened_to());
}

void Progress::end() {
  if (told_ && terminal_) fmt::print(stderr, "{}", kEraseLine);
  told_ = false;
}

bool Progress::due() {
  const auto now = steady_clock::now();
  if (!shown_ || now - said_ < (terminal_ ? milliseconds(200) : milliseconds(5000))) return false;
  said_ = now;
  return true;
}

void Progress::at(int64_t done, int64_t skipped) {
  if (!due()) return;
  const double spent = std::chrono::duration<double>(said_ - begun_).count();
  const double rate = static_cast<double>(done - skipped) / spent;
  if (rate <= 0) return;
  tell(done, static_cast<double>(all_ - done) / rate,
       fmt::format(", {} a second", human_number(rate)));
}

void Progress::at(int64_t done, double seconds_left) {
  if (due()) tell(done, seconds_left, "");
}

void Progress::tell(int64_t done, double seconds_left, const std::string& rate) {
  constexpr double kNanoseconds = 1e9;
  told_ = true;
  const std::string end =
      all_ == 0 ? rate
                : fmt::format(" of {}{}, {} left", all_, rate,
                              human_time(static_cast<int64_t>(kNanoseconds * seconds_left)));
  fmt::print(stderr, "{}{} {}{}{}", terminal_ ? kEraseLine : "", what_, done, end,
             terminal_ ? "" : "\n");
}

}  // namespace plimsoll::cli
