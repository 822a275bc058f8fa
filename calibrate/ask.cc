#include "calibrate/ask.h"

#include <fmt/format.h>

#include <memory>
#include <set>

#include "calibrate/asking_child.h"
#include "estimator/library/workspace_plan.h"
#include "graph/base/json_lines_file.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

// What stands for an answer when the file is gone on with.
std::string key_of(const AskedAnswer& answer) {
  return fmt::format("{} {} {} {}", answer.gpu, answer.cudnn, answer.framework,
                     text_of(answer.question));
}

// The answers, and what the framework takes of each: they grow while tables look into them.
class Choices {
 public:
  Choices(const AskPlan& plan, const Hwdb& hwdb, const std::string& cudnn)
      : policy_(plan.policy),
        tables_(hwdb, plan.device, parse_version(cudnn).value_or(Version{}), asked_) {}

  Result<std::string> line_of(const AskedAnswer& answer) {
    if (!answer.error.empty()) return plimsoll::line_of(answer, {});
    asked_->add(answer);
    const ConvProblem<int64_t>& problem = answer.question.problem;
    const auto tables = TRY(tables_.of(answer.question.dtype, problem.channels_last));
    const auto choice = TRY(tables->choose(problem, answer.question.pass, policy_));
    return plimsoll::line_of(answer, choice);
  }

 private:
  WorkspacePolicy policy_;
  std::shared_ptr<AskedWorkspaces> asked_ = std::make_shared<AskedWorkspaces>();
  WorkspaceTableCache tables_;
};

}  // namespace

Result<AskReport> ask(const AskPlan& plan, const Hwdb& hwdb,
                      const std::function<void(size_t, size_t)>& progress) {
  auto child = TRY(AskingChild::start(plan.device, plan.longest_answer));
  auto file = TRY(JsonLinesFile::open(plan.out, {.begins = {R"({"pass":)"}}));
  AskReport report{.libraries = child.libraries(), .torn_bytes = file.torn_bytes()};
  std::set<std::string> known;
  for (size_t i = 0; i < file.lines().size(); ++i) {
    const auto answer =
        TRY(read_answer(file.lines()[i], fmt::format("{}, line {}", plan.out, i + 1)));
    known.insert(key_of(answer));
  }
  TRY(file.cut_torn_end());
  Choices choices(plan, hwdb, child.version());
  for (size_t i = 0; i < plan.questions.size(); ++i) {
    AskedAnswer answer;
    answer.question = plan.questions[i];
    answer.gpu = plan.device.id;
    answer.cudnn = child.version();
    answer.framework = plan.framework;
    if (!known.insert(key_of(answer)).second) {
      ++report.known;
      continue;
    }
    auto listed = TRY(child.ask(answer.question));
    answer.mode = listed.mode;
    answer.plans = std::move(listed.plans);
    answer.error = listed.error;
    const auto line = TRY(choices.line_of(answer));
    TRY(file.append(line));
    ++report.asked;
    if (!answer.error.empty()) ++report.refused;
    if (progress) progress(i + 1, plan.questions.size());
  }
  return report;
}

}  // namespace plimsoll
