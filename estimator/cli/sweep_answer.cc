#include "estimator/cli/sweep_answer.h"

#include "estimator/cli/command_line.h"
#include "estimator/cli/interrupt.h"
#include "estimator/cli/messages.h"
#include "estimator/cli/output.h"

namespace plimsoll::cli {

bool OutputPieces::add(const std::string& text) {
  constexpr size_t kPiece = 1 << 16;
  text_ += text;
  return text_.size() < kPiece || flush();
}

bool OutputPieces::flush() {
  good_ = good_ && print(text_) == 0;
  text_.clear();
  return good_;
}

SweepAnswer::SweepAnswer(SweepJob& job)
    : job_(job),
      lines_(job.flags.json && !job.flags.count_only),
      listed_(!job.flags.json && !job.flags.count_only),
      time_(!job.flags.memory_only),
      page_(job.plan, time_),
      dips_(job.axes.sizes()),
      progress_("swept", job.asked(), *progress_when(job.flags.work)) {
  summary_.objective = job.plan.objective;
}

bool SweepAnswer::add(SweepPoint point) {
  if (point.failure) {
    for (Diagnostic& d : *point.failure) d = spelled(std::move(d), spelling());
  }
  if (!job_.chosen && job_.flags.shard.empty()) dips_.add(point);
  for (const SweptConfiguration& configuration : job_.axes.at(point)) {
    if (!job_.is_asked(configuration)) continue;
    plimsoll::add(configuration, point, summary_);
    if (job_.page || listed_) best_.add(configuration, point);
    if (job_.page) page_.add(configuration, point);
    if (job_.emitter) job_.emitter->add(configuration, point);
    if (!job_.log && !lines_) continue;
    const std::string line = to_json_line(job_.plan, configuration, point, time_);
    if (lines_) out_.add(line + "\n");
    if (!job_.log) continue;
    if (auto added = job_.log->add(configuration, line); !added) fault_ = added.error();
  }
  progress_.at(summary_.configurations, job_.log ? static_cast<int64_t>(job_.log->resumed()) : 0);
  return out_.good() && !fault_ && !interrupted();
}

void SweepAnswer::flush() {
  progress_.end();
  out_.flush();
}

int SweepAnswer::finish(double seconds) {
  progress_.end();
  summary_.seconds = seconds;
  report(dips_.told());
  if (job_.page) {
    const std::string model = job_.model();
    const int fault = write_page(
        *job_.page,
        page_.to_html(summary_, best_, model.empty() ? "several models" : model, command_line()));
    if (fault != 0) return fault;
  }
  std::string emitted;
  if (job_.emitter) {
    auto written = job_.emitter->write(time_);
    if (!written) return report(written.error());
    emitted = std::move(*written);
  }
  out_.add(job_.flags.json ? to_json_line(summary_) : to_text(summary_));
  if (listed_) {
    out_.add(best_text(job_.plan, summary_));
    out_.add(best_.to_text(job_.plan, time_, page_of({})));
    out_.add(emitted);
  }
  return out_.flush() ? (summary_.fit > 0 ? 0 : 1) : 4;
}

}  // namespace plimsoll::cli
