#include "estimator/app/cli/sweep_answer.h"

#include <limits>
#include <utility>

#include "estimator/answer/assumptions.h"
#include "estimator/app/cli/command_line.h"
#include "estimator/app/cli/interrupt.h"
#include "estimator/app/cli/messages.h"
#include "estimator/app/cli/output.h"
#include "estimator/app/report/answer_notes.h"
#include "estimator/estimator.h"
#include "estimator/request/find_platform.h"
#include "graph/base/setting.h"

namespace plimsoll::cli {

namespace {

SweepQuestion question_of(const SweepJob& job) {
  SweepQuestion question{.plan = job.flags.plan,
                         .method = job.plan.random ? "random" : "grid",
                         .run_cap = job.plan.run_cap,
                         .seed = job.plan.seed,
                         .shard = job.flags.shard,
                         .memory_only = job.flags.memory_only};
  for (const SweepParameter& parameter : job.plan.parameters)
    question.parameters.emplace_back(parameter.name, JsonValue{.data = parameter.values});
  return question;
}

AnswerNotes notes_of(const SweepJob& job) {
  AnswerNotes notes{.request = job.request};
  notes.request.model = job.model();
  notes.basis.emplace_back("each configuration is answered as estimate answers it");
  if (!job.request.defaults.empty()) notes.basis.push_back("defaults: " + job.request.defaults);
  for (const SweepParameter& parameter : job.plan.parameters) {
    if (const SettingRow* row = find_setting(flag_of(parameter.name)))
      notes.ranges.emplace_back(std::string(row->name), JsonValue{.data = parameter.values});
  }
  for (const auto& [name, given] :
       {std::pair("seed", !job.flags.seed.empty()), std::pair("shard", !job.flags.shard.empty()),
        std::pair("memory-only", job.flags.memory_only)}) {
    if (given) notes.request.given.emplace(name);
  }
  return notes;
}

// Of the first configuration, but for what the plan goes through.
std::vector<Assumption> assumed_of(const SweepJob& job) {
  const Request& first = job.axes.variants().front();
  const auto platform =
      find_platform(job.hwdb, first, first.devices.empty() ? "" : first.devices.front());
  const auto model = platform ? compile(first, *platform) : tl::make_unexpected(Diagnostics());
  if (!model) return {};
  InputFacts facts = model->facts;
  facts.batch = batch_at(*model, model->binding);
  facts.symbols = model->binding;
  std::vector<Assumption> all = assumptions_of({first, *platform, *model}, facts);
  std::erase_if(all, [&](const Assumption& a) {
    return std::ranges::any_of(job.axes.sizes(), [&](const SizeAxis& axis) {
      return a.setting == axis.symbol || a.change == setting_entry("dim", axis.symbol, "N");
    });
  });
  return all;
}

}  // namespace

int64_t gpus_of(const SweepJob& job, const std::vector<size_t>& values) {
  const JsonValue* said = value_of(job.plan, values, "gpus");
  return said ? said->integer().value_or(job.request.gpu_count) : job.request.gpu_count;
}

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
      lines_(job.flags.output.json && !job.flags.count_only),
      listed_(!job.flags.output.json && !job.flags.count_only),
      time_(!job.flags.memory_only),
      gpus_(job.prices),
      page_(job.plan, time_,
            [&job](const SweepCandidate& one) {
              const auto price = job.prices.find(one.point.device_id);
              const auto count = static_cast<double>(gpus_of(job, one.configuration.values));
              return price == job.prices.end() ? std::nullopt
                                               : std::optional(price->second * count);
            }),
      dips_(job.axes.sizes()),
      progress_("swept", job.asked(), *progress_when(job.flags.work)) {
  summary_.objective = job.plan.objective;
  summary_.question = question_of(job);
  summary_.notes = notes_of(job);
}

bool SweepAnswer::add(SweepPoint point) {
  if (point.failure) {
    for (Diagnostic& d : *point.failure) d = spelled(std::move(d), spelling());
  }
  if (!job_.chosen && job_.flags.shard.empty()) dips_.add(point);
  for (const SweptConfiguration& configuration : job_.axes.at(point)) {
    if (!job_.is_asked(configuration)) continue;
    plimsoll::add(configuration, point, summary_);
    gpus_.add(point, gpus_of(job_, configuration.values));
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

// What `emitted` says of files that were written is left out where a program reads the table.
void SweepAnswer::add_summary(const std::string& emitted) {
  const OutputFlags& output = job_.flags.output;
  if (const TableForm* form = output.table()) {
    constexpr size_t kAll = std::numeric_limits<size_t>::max();
    out_.add((best_.table(job_.plan, time_, kAll).*form->write)());
    return;
  }
  out_.add(output.json ? to_json_line(summary_) : to_text(summary_));
  if (!listed_) return;
  const Page page = page_of(output);
  out_.add(to_text(summary_.by_gpu, page));
  out_.add(best_text(job_.plan, summary_));
  out_.add(best_.to_text(job_.plan, time_, page));
  if (!output.quiet) out_.add(assumed_paragraph(summary_.notes, page));
  out_.add(emitted);
}

int SweepAnswer::finish(double seconds, Diagnostics warnings) {
  progress_.end();
  summary_.seconds = seconds;
  const Diagnostics dips = dips_.told();
  report(dips);
  warnings.insert(warnings.end(), dips.begin(), dips.end());
  summary_.notes.diagnostics = std::move(warnings);
  summary_.by_gpu = gpus_.all();
  if (job_.page || lines_ || listed_) summary_.notes.assumed = assumed_of(job_);
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
  add_summary(emitted);
  return out_.flush() ? (summary_.fit > 0 ? 0 : 1) : 4;
}

}  // namespace plimsoll::cli
