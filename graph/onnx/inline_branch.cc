// If: one of its branches is written out. Which one is known where the condition is a constant or
// computed from shapes; else the user says, or the branch with more nodes is taken and told. Ifs
// that ask the same question take the same answer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "graph/base/among.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"
#include "graph/onnx/asked_nodes.h"
#include "graph/onnx/inline.h"

namespace plimsoll::onnx {
namespace {

// Operators that give the same for the same operands, where they have no attributes.
bool is_plain(std::string_view op) {
  constexpr std::array<std::string_view, 14> kOps = {
      "And",  "Cast",        "Equal", "Gather", "Greater", "GreaterOrEqual", "Identity",
      "Less", "LessOrEqual", "Not",   "Or",     "Reshape", "Squeeze",        "Unsqueeze"};
  return among(op, kOps);
}

const Node* maker_of(const Graph& graph, TensorId tensor) {
  const NodeId maker = tensor == kNoTensor ? kNoNode : graph.tensors[tensor].producer;
  if (maker == kNoNode) return nullptr;
  const Node& node = graph.nodes[maker];
  const bool plain = node.domain.empty() && node.outputs.size() == 1 && node.inputs.size() <= 2 &&
                     is_plain(node.op);
  return plain && (node.op == "Cast" || node.attributes.entries().empty()) ? &node : nullptr;
}

std::string text_of(const Graph& graph, TensorId tensor, int depth) {
  if (tensor == kNoTensor) return "-";
  if (const auto& contents = graph.tensors[tensor].contents) {
    if (contents->integers.size() == 1) return fmt::format("{}", contents->integers.front());
    if (contents->reals.size() == 1) return fmt::format("{}", contents->reals.front());
  }
  const Node* maker = depth > 0 ? maker_of(graph, tensor) : nullptr;
  if (!maker) return fmt::format("#{}", tensor);
  std::vector<std::string> operands;
  for (const TensorId input : maker->inputs) operands.push_back(text_of(graph, input, depth - 1));
  return fmt::format("{}{}({})", maker->op, maker->attributes.integer("to", 0),
                     fmt::join(operands, ","));
}

std::string_view side(bool then) { return then ? "then" : "else"; }

}  // namespace

// Seen through Not, so that a question and its opposite are one.
std::string Inliner::question(TensorId condition, bool& negated) const {
  constexpr int kHops = 16;
  constexpr int kDepth = 4;
  for (int hop = 0; hop < kHops; ++hop) {
    const Node* maker = maker_of(graph_, condition);
    const bool passes =
        maker && (maker->op == "Not" || maker->op == "Identity" || maker->op == "Cast");
    if (!passes || maker->inputs.size() != 1) break;
    if (maker->op == "Not") negated = !negated;
    condition = maker->inputs.front();
  }
  return text_of(graph_, condition, kDepth);
}

std::string Inliner::decided_by(TensorId condition) const {
  std::set<TensorId> seen = {condition};
  std::vector<TensorId> open;
  if (condition != kNoTensor) open.push_back(condition);
  while (!open.empty()) {
    const Tensor& t = graph_.tensors[open.back()];
    open.pop_back();
    if (t.kind == TensorKind::kInput) return fmt::format(" of input '{}'", shortened(t.name, 60));
    if (t.producer == kNoNode) continue;
    const Node& node = graph_.nodes[t.producer];
    if (node.op == "Shape" || node.op == "Size") continue;
    for (const TensorId input : node.inputs) {
      if (input != kNoTensor && seen.insert(input).second) open.push_back(input);
    }
  }
  return {};
}

Result<void> Inliner::branch(Frame& frame, const NodeSpec& spec) {
  const auto inputs = TRY(inputs_of(frame, spec));
  const auto* then_graph = spec.extras ? spec.extras->graph("then_branch") : nullptr;
  const auto* else_graph = spec.extras ? spec.extras->graph("else_branch") : nullptr;
  if (!then_graph || !else_graph || inputs.size() != 1) {
    return error("E247", "an If needs a condition, then_branch and else_branch",
                 place(frame, spec));
  }
  const std::string* asked = asked_of(options_.branches, frame.prefix, spec);
  const auto known = known_.number(inputs.front());
  bool then = known.value_or(0) != 0;
  std::optional<size_t> guess;
  if (!known) {
    const Answer answer = answer_to(frame, spec, inputs.front(), asked,
                                    expanded_[*then_graph] >= expanded_[*else_graph]);
    then = answer.then;
    guess = answer.guess;
  } else if (asked && *asked != side(then) && overruled_.insert(asked).second) {
    warnings_.push_back(
        warning("W240",
                fmt::format("{} has no effect: the condition is known, the branch is {}",
                            setting("branch"), side(then)),
                place(frame, spec)));
  }
  if (asked) used_.insert(asked);
  Frame body = inner(frame, spec, then ? *then_graph : *else_graph);
  body.targets = outputs_of(frame, spec);
  if (guess) body.guess = note_guess(*guess, body.targets);
  return push(std::move(body));
}

Inliner::Answer Inliner::answer_to(const Frame& frame, const NodeSpec& spec, TensorId condition,
                                   const std::string* asked, bool larger_is_then) {
  bool negated = false;
  const std::string asks = question(condition, negated);
  if (asked) {
    const bool then = *asked == "then";
    answers_.try_emplace(asks, Answer{then != negated, std::nullopt});
    return {then, std::nullopt};
  }
  const auto before = answers_.find(asks);
  if (before != answers_.end()) return {before->second.then != negated, before->second.guess};
  Guess guess;
  guess.node = place(frame, spec).node;
  guess.taken = side(larger_is_then);
  guess.remedy = setting_entry("branch", handle(spec), side(!larger_is_then));
  if (asked_guesses_.empty()) decided_by_ = decided_by(condition);
  asked_guesses_.push_back(std::move(guess));
  const Answer answer{larger_is_then != negated, asked_guesses_.size() - 1};
  answers_.emplace(asks, answer);
  return {larger_is_then, answer.guess};
}

// One more place where a guess is followed.
size_t Inliner::note_guess(size_t guess, const std::vector<TensorId>& outputs) {
  Guess here = asked_guesses_[guess];
  here.first = static_cast<TensorId>(graph_.tensors.size());
  here.outputs = outputs;
  graph_.guesses.push_back(std::move(here));
  return graph_.guesses.size() - 1;
}

void Inliner::warn_of_guesses() {
  if (asked_guesses_.empty()) return;
  constexpr size_t kShown = 4;
  std::vector<std::string> remedies;
  for (const Guess& guess : asked_guesses_) {
    const bool told = std::ranges::find(remedies, guess.remedy) != remedies.end();
    if (remedies.size() < kShown && !told) remedies.push_back(guess.remedy);
  }
  const size_t count = graph_.guesses.size();
  warnings_.push_back(warning(
      "W212",
      fmt::format("{} If node{}: the branch with more nodes is assumed, because the condition "
                  "depends on the value{}",
                  count, count == 1 ? "" : "s", decided_by_.empty() ? " of data" : decided_by_),
      {.file = {}, .node = asked_guesses_.front().node},
      fmt::format("for the other give {}", fmt::join(remedies, " or "))));
}

void Inliner::warn_of_unused() {
  for (const auto& [name, branch] : options_.branches) {
    if (used_.contains(&branch)) continue;
    warnings_.push_back(warning("W240", setting_entry("branch", shortened(name, 60)) +
                                            " has no effect: the If is never reached"));
  }
  for (const auto& [name, count] : options_.trips) {
    if (used_.contains(&count)) continue;
    warnings_.push_back(warning("W240", setting_entry("trip", shortened(name, 60)) +
                                            " has no effect: the loop is never reached"));
  }
}

// The innermost guessed branch that is being written out, of Graph::guesses.
std::optional<size_t> Inliner::guess_here() const {
  const auto guessed = std::find_if(stack_.rbegin(), stack_.rend(),
                                    [](const Frame& frame) { return frame.guess.has_value(); });
  return guessed == stack_.rend() ? std::nullopt : guessed->guess;
}

Diagnostics Inliner::with_guesses(Diagnostics diagnostics) const {
  if (const auto guess = guess_here()) add_guess(diagnostics, 0, graph_.guesses[*guess]);
  return diagnostics;
}

}  // namespace plimsoll::onnx
