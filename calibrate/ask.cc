#include "calibrate/ask.h"

#include <fmt/format.h>

#include <memory>
#include <set>

#include "calibrate/asking_child.h"
#include "estimator/library/workspace_plan.h"
#include "graph/base/json_lines_file.h"

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
    const auto tables = tables_.of(answer.question.dtype, problem.channels_last);
    if (!tables) return tl::make_unexpected(tables.error());
    const auto choice = (*tables)->choose(problem, answer.question.pass, policy_);
    if (!choice) return tl::make_unexpected(choice.error());
    return plimsoll::line_of(answer, *choice);
  }

 private:
  WorkspacePolicy policy_;
  std::shared_ptr<AskedWorkspaces> asked_ = std::make_shared<AskedWorkspaces>();
  WorkspaceTableCache tables_;
};

}  // namespace

Result<AskReport> ask(const AskPlan& plan, const Hwdb& hwdb,
                      const std::function<void(size_t, size_t)>& progress) {
  auto child = AskingChild::start(plan.device, plan.longest_answer);
  if (!child) return tl::make_unexpected(child.error());
  auto file = JsonLinesFile::open(plan.out, {.begins = {R"({"pass":)"}});
  if (!file) return tl::make_unexpected(file.error());
  AskReport report{.libraries = child->libraries(), .torn_bytes = file->torn_bytes()};
  std::set<std::string> known;
  for (size_t i = 0; i < file->lines().size(); ++i) {
    const auto answer = read_answer(file->lines()[i], fmt::format("{}, line {}", plan.out, i + 1));
    if (!answer) return tl::make_unexpected(answer.error());
    known.insert(key_of(*answer));
  }
  if (auto done = file->cut_torn_end(); !done) return tl::make_unexpected(done.error());
  Choices choices(plan, hwdb, child->version());
  for (size_t i = 0; i < plan.questions.size(); ++i) {
    AskedAnswer answer;
    answer.question = plan.questions[i];
    answer.gpu = plan.device.id;
    answer.cudnn = child->version();
    answer.framework = plan.framework;
    if (!known.insert(key_of(answer)).second) {
      ++report.known;
      continue;
    }
    auto listed = child->ask(answer.question);
    if (!listed) return tl::make_unexpected(listed.error());
    answer.mode = listed->mode;
    answer.plans = std::move(listed->plans);
    answer.error = listed->error;
    const auto line = choices.line_of(answer);
    if (!line) return tl::make_unexpected(line.error());
    if (auto done = file->append(*line); !done) return tl::make_unexpected(done.error());
    ++report.asked;
    if (!answer.error.empty()) ++report.refused;
    if (progress) progress(i + 1, plan.questions.size());
  }
  return report;
}

}  // namespace plimsoll
