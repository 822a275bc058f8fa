#include "calibrate/workspace_packer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace plimsoll {
namespace {

constexpr uint8_t kNone = 255, kException = 254, kPreferredException = 253, kLater = 127;
constexpr size_t kMostTensorPlans = 126;
constexpr size_t kMostKnownForms = 2000, kLeastOfForm = 12, kLeastOfPlan = 4;

// Engine, tile, tensor, parts, extra; in the order of the file.
using Form = std::tuple<int, int, int, int, int64_t>;

struct Counted {
  Form form;
  size_t count = 0;
};

// Forms by their count, in the order in which they were first seen where that is equal.
class FormCounts {
 public:
  void add(const Form& form) {
    const auto [at, is_new] = index_.emplace(form, counts_.size());
    if (is_new) counts_.push_back({form, 0});
    ++counts_[at->second].count;
  }
  size_t of(const Form& form) const {
    const auto at = index_.find(form);
    return at == index_.end() ? 0 : counts_[at->second].count;
  }
  std::vector<Form> most_common(size_t most, size_t least) const {
    std::vector<Counted> sorted = counts_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Counted& a, const Counted& b) { return a.count > b.count; });
    std::vector<Form> forms;
    for (size_t i = 0; i < std::min(most, sorted.size()); ++i) {
      if (sorted[i].count >= least) forms.push_back(sorted[i].form);
    }
    return forms;
  }

 private:
  std::map<Form, size_t> index_;
  std::vector<Counted> counts_;
};

struct Problem {
  WorkspaceShape shape;
  Pass pass;
  DType dtype;
  const AskedPlan* first[2] = {nullptr, nullptr};  // without tensor cores, with
  bool tensor_preferred = false;
  int64_t largest = 0;
};

Problem problem_of(const ConvQuestion& question, const std::vector<AskedPlan>& plans) {
  Problem problem{*conv_shape(question.problem), question.pass, question.dtype};
  for (const AskedPlan& plan : plans) {
    if (plan.has("down_convert_inputs")) continue;
    const bool tensor = plan.has("tensor_core");
    if (!problem.first[0] && !problem.first[1]) problem.tensor_preferred = tensor;
    if (!problem.first[tensor]) problem.first[tensor] = &plan;
    problem.largest = std::max(problem.largest, plan.bytes);
  }
  return problem;
}

// Nothing where no formula gives the bytes.
std::optional<Form> plain_form(const Problem& problem) {
  if (!problem.first[0]) return std::nullopt;
  const int engine = static_cast<int>(problem.first[0]->engine);
  const int tile = problem.first[0]->tile();
  if (!workspace_bytes({.engine = engine, .tile = tile}, problem.pass, problem.shape,
                       problem.dtype)) {
    return std::nullopt;
  }
  return Form{engine, tile, 0, 0, 0};
}

std::vector<Form> tensor_forms(const Problem& problem) {
  std::vector<Form> forms;
  if (!problem.first[1]) return forms;
  const LayoutCopies copies = layout_copies(problem.shape, problem.dtype);
  for (const int parts : {5, 3, 7, 6, 0, 1, 2, 4}) {
    int64_t extra = problem.first[1]->bytes;
    if (parts & 1) extra -= copies.x;
    if (parts & 2) extra -= copies.y;
    if (parts & 4) extra -= copies.w;
    if (std::abs(extra) < int64_t{1} << 31)
      forms.emplace_back(static_cast<int>(problem.first[1]->engine), -1, 1, parts, extra);
  }
  return forms;
}

// The form of each problem's tensor plan that most others share; nothing where few do.
std::vector<std::optional<Form>> shared_forms(const std::vector<Problem>& problems) {
  FormCounts counts;
  for (const Problem& problem : problems) {
    for (const Form& form : tensor_forms(problem)) counts.add(form);
  }
  std::vector<Form> known = counts.most_common(kMostKnownForms, kLeastOfForm);
  std::sort(known.begin(), known.end());
  std::vector<std::optional<Form>> chosen(problems.size());
  for (size_t i = 0; i < problems.size(); ++i) {
    for (const Form& form : tensor_forms(problems[i])) {
      if (!std::binary_search(known.begin(), known.end(), form)) continue;
      if (!chosen[i] || counts.of(form) > counts.of(*chosen[i])) chosen[i] = form;
    }
  }
  return chosen;
}

// The table's plans, by their codes: those of tensor cores that most problems share, then the
// others.
std::vector<Form> plans_of(const std::vector<Problem>& problems,
                           const std::vector<std::optional<Form>>& chosen) {
  FormCounts used;
  for (const auto& form : chosen) {
    if (form) used.add(*form);
  }
  std::vector<Form> plans = used.most_common(kMostTensorPlans, kLeastOfPlan);
  std::set<Form> plain;
  for (const Problem& problem : problems) {
    if (const auto form = plain_form(problem)) plain.insert(*form);
  }
  plans.insert(plans.end(), plain.begin(), plain.end());
  return plans;
}

// A byte of each problem: its plan without tensor cores, with them, and its largest workspace.
// Plans without a code follow them.
struct Columns {
  std::array<std::string, 3> codes;
  std::array<std::vector<const AskedPlan*>, 2> exceptions;
};

Columns columns_of(const std::vector<Problem>& problems,
                   const std::vector<std::optional<Form>>& chosen,
                   const std::map<Form, uint8_t>& codes) {
  Columns columns;
  const auto append = [&](size_t column, uint8_t code) {
    columns.codes[column] += static_cast<char>(code);
  };
  for (size_t i = 0; i < problems.size(); ++i) {
    const Problem& problem = problems[i];
    const auto form = plain_form(problem);
    append(0, form ? codes.at(*form) : problem.first[0] ? kException : kNone);
    if (problem.first[0] && !form) columns.exceptions[0].push_back(problem.first[0]);
    const bool coded = chosen[i] && codes.contains(*chosen[i]);
    if (coded) {
      const uint8_t code = codes.at(*chosen[i]);
      append(1, problem.tensor_preferred ? code : static_cast<uint8_t>(code + kLater));
    } else if (problem.first[1]) {
      append(1, problem.tensor_preferred ? kPreferredException : kException);
      columns.exceptions[1].push_back(problem.first[1]);
    } else {
      append(1, kNone);
    }
    const double quarters = 4 * std::log2(static_cast<double>(problem.largest));
    append(2, problem.largest == 0 ? uint8_t{0} : static_cast<uint8_t>(1 + std::ceil(quarters)));
  }
  return columns;
}

void put(std::string& out, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

}  // namespace

std::vector<ConvQuestion> table_questions(const LayerList& layers, DType dtype,
                                          bool channels_last) {
  std::vector<ConvQuestion> questions;
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    for (const int64_t batch : kTableBatches) {
      const WorkspaceShape v = layers.shape(layer, batch);
      ConvQuestion question;
      question.problem = {.n = v.n,
                          .c = v.c,
                          .k = v.k,
                          .groups = v.groups,
                          .in = {1, v.h, v.w},
                          .out = {1, v.p, v.q},
                          .filter = {1, v.r, v.s},
                          .pad = {0, v.pad_h, v.pad_w},
                          .stride = {1, v.stride_h, v.stride_w},
                          .dilation = {1, v.dil_h, v.dil_w},
                          .channels_last = channels_last};
      question.dtype = dtype;
      for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights}) {
        question.pass = pass;
        questions.push_back(question);
      }
    }
  }
  return questions;
}

std::string pack_workspaces(const std::vector<ConvQuestion>& questions,
                            const std::vector<std::vector<AskedPlan>>& answers) {
  std::vector<Problem> problems;
  for (size_t i = 0; i < questions.size(); ++i)
    problems.push_back(problem_of(questions[i], answers[i]));
  const std::vector<std::optional<Form>> chosen = shared_forms(problems);
  const std::vector<Form> plans = plans_of(problems, chosen);
  std::map<Form, uint8_t> codes;
  for (size_t i = 0; i < plans.size(); ++i) codes.emplace(plans[i], static_cast<uint8_t>(i));

  std::string out = "PLW1";
  put(out, questions.size() / 3 / std::size(kTableBatches), 4);
  put(out, std::size(kTableBatches), 1);
  put(out, plans.size(), 1);
  put(out, 0, 2);
  for (const int64_t batch : kTableBatches) put(out, static_cast<uint64_t>(batch), 4);
  for (const auto& [engine, tile, tensor, parts, extra] : plans) {
    put(out, static_cast<uint64_t>(engine), 1);
    put(out, static_cast<uint64_t>(tile), 1);
    put(out, static_cast<uint64_t>(tensor), 1);
    put(out, static_cast<uint64_t>(parts), 1);
    put(out, static_cast<uint64_t>(extra), 4);
  }
  const Columns columns = columns_of(problems, chosen, codes);
  for (const std::string& column : columns.codes) out += column;
  for (size_t byte = 0; byte < 6; ++byte) {
    for (const auto& list : columns.exceptions) {
      for (const AskedPlan* plan : list) {
        const auto value = byte == 0 ? static_cast<uint64_t>(plan->engine)
                                     : static_cast<uint64_t>(plan->bytes) >> (8 * (byte - 1));
        put(out, value, 1);
      }
    }
  }
  return out;
}

}  // namespace plimsoll
