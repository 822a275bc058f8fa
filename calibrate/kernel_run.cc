#include "calibrate/kernel_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>

#include "calibrate/kernel_record.h"
#include "graph/base/json_lines_file.h"
#include "graph/base/try.h"

namespace plimsoll::calibrate {
namespace {

using Clock = std::chrono::steady_clock;

// What a file has of this card.
struct Known {
  std::map<std::string, RunRecord> kernels;  // by key
  std::vector<Figure> figures;
};

Result<Known> read_known(const JsonLinesFile& file, const KernelRunPlan& plan) {
  Known known;
  if (!file.lines().empty() && !plan.resume) {
    return error("E726", fmt::format("{} has {} records", plan.out, file.lines().size()), {},
                 "--resume continues the file; or name another --out");
  }
  for (size_t i = 0; i < file.lines().size(); ++i) {
    auto line = TRY(read_run_line(file.lines()[i], fmt::format("{}, line {}", plan.out, i + 1)));
    if (line.device != plan.device) continue;
    if (line.figure) known.figures.push_back(*line.figure);
    if (line.kernel) known.kernels.emplace(line.kernel->key, std::move(*line.kernel));
  }
  return known;
}

class Runner {
 public:
  Runner(Card& card, const KernelRunPlan& plan, const KernelRunHooks& hooks)
      : card_(card), plan_(plan), hooks_(hooks) {}

  Result<KernelRun> run() {
    Known known;
    if (!plan_.out.empty()) {
      auto opened = TRY(JsonLinesFile::open(plan_.out, {.begins = {R"({"kind":)"}}));
      auto had = TRY(read_known(opened, plan_));
      known = std::move(had);
      TRY(opened.cut_torn_end());
      run_.torn_bytes = opened.torn_bytes();
      file_.emplace(std::move(opened));
    }
    TRY(add_figures(known));
    TRY(add_kernels(known.kernels));
    return std::move(run_);
  }

 private:
  Result<void> append(const std::string& line) {
    return file_ ? file_->append(line) : Result<void>();
  }

  // They stand before the kernels: a file that has one of these has all of them, another may have
  // ended among them.
  Result<void> add_figures(const Known& known) {
    if (!plan_.figures) return {};
    if (!known.kernels.empty()) {
      run_.figures = known.figures;
      return {};
    }
    auto figures = card_.figures();
    if (!figures && !is_of_kernel(figures.error())) return tl::make_unexpected(figures.error());
    if (!figures) return {};
    for (Figure& figure : *figures) {
      const auto had = std::ranges::find(known.figures, figure.quantity, &Figure::quantity);
      if (had != known.figures.end()) {
        run_.figures.push_back(*had);
        continue;
      }
      const std::string line = line_of(figure, plan_.device, card_.facts().driver);
      if (auto done = append(line); !done) return done;
      run_.figures.push_back(std::move(figure));
    }
    return {};
  }

  Result<void> add_kernels(std::map<std::string, RunRecord>& known) {
    const auto begin = Clock::now();
    std::set<std::string> seen;
    for (size_t i = 0; i < plan_.kernels.size(); ++i) {
      const std::string key = key_of(plan_.kernels[i].kernel);
      if (!seen.insert(key).second) continue;
      if (const auto had = known.find(key); had != known.end()) {
        run_.records.push_back(std::move(had->second));
        ++run_.known;
        continue;
      }
      if (hooks_.stop && hooks_.stop()) {
        run_.stopped = true;
        return {};
      }
      if (auto done = add_kernel(plan_.kernels[i], key); !done) return done;
      if (!hooks_.progress) continue;
      const std::chrono::duration<double> took = Clock::now() - begin;
      const double each = took.count() / static_cast<double>(run_.records.size() - run_.known);
      hooks_.progress(i + 1, plan_.kernels.size(),
                      each * static_cast<double>(plan_.kernels.size() - i - 1));
    }
    return {};
  }

  Result<void> add_kernel(const PlannedKernel& planned, const std::string& key) {
    const CardFacts& facts = card_.facts();
    RunRecord record{.device = plan_.device,
                     .cudnn = facts.version_of("cuDNN"),
                     .cuda = facts.version_of("cuBLASLt"),
                     .driver = facts.driver,
                     .key = key,
                     .kernel = {},
                     .timing = {}};
    if (is_told(planned.kernel)) record.kernel = planned.kernel;
    if (planned.skipped.empty()) {
      auto timing = TRY(time_kernel(card_, planned.kernel, plan_.rules));
      record.timing = std::move(timing);
    } else {
      record.timing.skipped = planned.skipped;
    }
    if (auto done = append(line_of(record, planned.kernel)); !done) return done;
    run_.records.push_back(std::move(record));
    return {};
  }

  Card& card_;
  const KernelRunPlan& plan_;
  const KernelRunHooks& hooks_;
  std::optional<JsonLinesFile> file_;
  KernelRun run_;
};

}  // namespace

Result<KernelRun> run_kernels(Card& card, const KernelRunPlan& plan, const KernelRunHooks& hooks) {
  return Runner(card, plan, hooks).run();
}

}  // namespace plimsoll::calibrate
