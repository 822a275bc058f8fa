// The form of text and help: widths, lengths, defaults.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

namespace {

const std::string kFormRuns = std::string(PLIMSOLL_SOURCE_DIR) + "/examples/measured-runs.csv";
const std::string kFormPlan = std::string(PLIMSOLL_SOURCE_DIR) + "/examples/sweep.yaml";
const std::string kFormNet = "builtin:squeezenet1_0";

// Longest line of a text, but for the words of a command to paste.
size_t longest_line(const std::string& text) {
  size_t longest = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    longest = std::max(longest, end - at);
    at = end + 1;
  }
  return longest;
}

}  // namespace

TEST_CASE("cli: help of a verb fits two screens of 24 lines") {
  if (skipped()) return;
  constexpr ptrdiff_t kTwoScreens = 48;
  for (const char* verb : {"estimate", "max-batch", "sweep", "compare", "validate", "explain"}) {
    CAPTURE(verb);
    const Ran help = run_plimsoll({verb, "--help"});
    CHECK(std::ranges::count(help.out, '\n') <= kTwoScreens);
    CHECK(says(help.out, "--gpus"));  // named, if not described
  }
}

TEST_CASE("cli: text is no wider than 80 columns where there is no terminal") {
  if (skipped()) return;
  const std::vector<std::vector<std::string>> commands = {
      {"estimate", kFormNet, "--gpu", "l4"},
      {"estimate", kFormNet, "--gpu", "l4", "--layers", "--kernels", "--why"},
      {"estimate", "builtin:vit_b_16", "--gpu", "quadro-p4000", "--batch", "2000", "--layers"},
      {"max-batch", kFormNet, "--gpu", "l4", "--max", "64"},
      {"compare", "builtin:resnet50", "--gpu", "l4", "--gpu", "rtx-6000-ada", "--gpu", "h200"},
      {"sweep", kFormPlan},
      {"validate", kFormRuns, "--allow-skipped"},
      {"estimate", "--help-all"},
      {"max-batch", "--help"},
      {"sweep", "--help"},
      {"compare", "--help"},
      {"validate", "--help"},
      {"explain", "--help"},
      {"gpus"},
      {"models"},
  };
  for (const auto& arguments : commands) {
    const Ran ran = run_plimsoll(arguments);
    CAPTURE(arguments.front());
    CAPTURE(arguments.back());
    CAPTURE(ran.out);
    CHECK(longest_line(ran.out) <= 80);
  }
}

TEST_CASE("cli: a default that help names is what holds without the flag") {
  if (skipped()) return;
  const auto result = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"estimate", kFormNet, "--gpu", "l4", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string out = run_plimsoll(arguments).out;
    const auto between = [&](const char* first, const char* last) {
      return out.substr(out.find(first), out.find(last) - out.find(first));
    };
    return between("\"result\"", "\"request\"") + between("\"basis\"", "\"diagnostics\"");
  };
  const std::string usual = result({});
  std::istringstream help(run_plimsoll({"estimate", "--help-all"}).out);
  size_t checked = 0;
  std::string flag;
  for (std::string line; std::getline(help, line);) {
    if (line.starts_with("  --")) flag = line.substr(2, line.find(' ', 2) - 2);
    const size_t open = line.rfind('[');
    if (open == line.npos || !line.ends_with("]") || flag == "--color") continue;
    // One word is a value that the flag takes; more are a description.
    const std::string value = line.substr(open + 1, line.size() - open - 2);
    if (value.find_first_of(" '") != value.npos) continue;
    CAPTURE(flag);
    CAPTURE(value);
    CHECK(result({flag, value}) == usual);
    ++checked;
  }
  CHECK(checked >= 10);
}

TEST_CASE("cli: in GitHub Actions what is out of tolerance is annotated, and a summary written") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string summary = scratch.write("summary.md", "before\n"),
                    junit = scratch.path("j.xml");
  const std::vector<std::string> asked = {"validate",  kFormRuns, "--tolerance",
                                          "memory=1%", "--junit", junit};
  const std::vector<std::string> actions = {"GITHUB_ACTIONS=true",
                                            "GITHUB_STEP_SUMMARY=" + summary};
  const Ran ran = run_plimsoll(asked, {.environment = actions});
  CHECK(ran.status == 1);
  CHECK(says(ran, "::error file="));
  CHECK(says(ran, ",line=5,title=plimsoll::nvidia_smi_mb of resnet50"));
  CHECK(says(detail::text_of(summary), "before\n### plimsoll validate: FAILED"));
  CHECK(says(detail::text_of(junit), "failures=\"1\""));
  // Again: CI writes its reports anew.
  std::vector<std::string> never = asked;
  never.insert(never.end(), {"--annotations", "never"});
  const Ran quiet = run_plimsoll(never, {.environment = actions});
  CHECK(quiet.status == 1);
  CHECK(!says(quiet, "::error"));
  CHECK(!says(run_plimsoll(asked), "::error"));
}

TEST_CASE("cli: lists are tables too, as CSV and Markdown") {
  if (skipped()) return;
  const std::pair<const char*, const char*> lists[] = {
      {"gpus", "generation,id,compute_capability,sms,memory_bytes,"},
      {"links", "id,bytes_per_second,name\n"},
      {"hosts", "id,name\n"},
      {"frameworks", "id\n"},
      {"models", "model,description\n"},
      {"ops", "operator,since,example\n"}};
  for (const auto& row : lists) {
    const std::string verb = row.first;
    CAPTURE(verb);
    CHECK(run_plimsoll({verb, "--csv"}).out.starts_with(row.second));
    CHECK(run_plimsoll({verb, "--markdown"}).out.starts_with("| "));
    CHECK(run_plimsoll({verb, "--csv", "--markdown"}).status == 2);
  }
  CHECK(run_plimsoll({"gpus", "l4", "--csv"}).out.starts_with("figure,value,source\n"));
  const std::string families = run_plimsoll({"models", "--families", "--csv"}).out;
  CHECK(families.starts_with("model,class,description\n"));
  CHECK(says(families, "\nbert,BertForMaskedLM,"));
  CHECK(says(families, "\nhf:openai-community/gpt2,,"));
  const auto step = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"estimate", "builtin:alexnet", "--gpu", "tesla-t4", "--batch", "8"});
    return run_plimsoll(more).out;
  };
  const std::string counts = step({"--gpus", "1..2", "--csv"});
  CHECK(
      counts.starts_with("gpus,step_ns,samples_per_second,efficiency,communication_ns,remark\n1,"));
  CHECK(std::ranges::count(counts, '\n') == 3);
  CHECK(step({"--gpus", "1..2", "--markdown"}).starts_with("| GPUs | step |"));
  CHECK(step({"--workspace-limit", "sweep", "--csv"})
            .starts_with("limit_bytes,step_ns,device_bytes,workspace_bytes,verdict\n0,"));
  const std::string every = run_plimsoll({"validate", kFormRuns, "--allow-skipped", "--csv"}).out;
  CHECK(every.starts_with("run,model,device,quantity,measured,predicted,error,state\n"));
}
