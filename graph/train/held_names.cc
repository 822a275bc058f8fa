#include "graph/train/held_names.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "graph/ir/module_path.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// A statement of one call: "vit.py:66 x,mask...".
struct Statement {
  std::string_view file, line, names;
  bool goes_on = false;
};

std::vector<Statement> statements_in(std::string_view list) {
  std::vector<Statement> statements;
  for (std::string_view text : parts_between(';', list)) {
    Statement s;
    s.goes_on = text.ends_with("...");
    if (s.goes_on) text.remove_suffix(3);
    const size_t space = std::min(text.find(' '), text.size());
    s.names = text.substr(std::min(space + 1, text.size()));
    if (s.names.ends_with("+=")) s.names.remove_suffix(2);
    text = text.substr(0, space);
    const size_t colon = std::min(text.find(':'), text.size());
    s.file = text.substr(0, colon);
    s.line = text.substr(std::min(colon + 1, text.size()));
    statements.push_back(s);
  }
  return statements;
}

int line_number(std::string_view digits) {
  int value = 0;
  for (const char c : digits.substr(0, 9)) value = 10 * value + (c - '0');
  return value;
}

// Puts what one statement made into the order of its names, of which `ends` says when each goes. A
// function makes its results in any order (cls, x = ...; return x, cls): it is the first one in
// which nothing is read after its name has gone.
void put_in_order(std::vector<TensorId>& values, const std::vector<NodeId>& ends,
                  const std::vector<NodeId>& last_read) {
  constexpr size_t kMost = 4;  // names
  if (values.size() != ends.size() || values.size() > kMost) return;
  std::vector<size_t> at(values.size());
  std::iota(at.begin(), at.end(), size_t{0});
  do {
    size_t fit = 0;
    while (fit < at.size() && last_read[values[at[fit]]] <= ends[fit]) ++fit;
    if (fit < at.size()) continue;
    const std::vector<TensorId> made = values;
    for (size_t i = 0; i < at.size(); ++i) values[i] = made[at[i]];
    return;
  } while (std::next_permutation(at.begin(), at.end()));
}

}  // namespace

HeldNames::HeldNames(const Graph& graph) : graph_(graph), until_(graph.tensors.size(), kNoNode) {
  call_of_.reserve(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) enter(id, graph.nodes[id]);
  if (!calls_.empty()) find_ends();
}

// Calls that a node has in common with the one before it are the same calls: those of the same
// files, in the same modules, below the same lines.
void HeldNames::enter(NodeId id, const Node& node) {
  call_of_.push_back(kNone);
  const auto now = statements_in(node.notes.statements);
  if (now.empty()) return;
  const auto scopes = parts_between('/', node.notes.calls);
  // A module whose forward() calls another class's has two calls for one scope.
  const size_t twice = now.size() > scopes.size() + 1 ? now.size() - scopes.size() - 1 : 0;
  const auto same_scope = [&](size_t depth) {
    if (depth <= twice) return true;  // the outermost is the model's own
    const size_t i = depth - twice - 1;
    if (i >= scopes.size() || i >= scopes_.size()) return i >= scopes.size() && i >= scopes_.size();
    return scopes[i] == scopes_[i];
  };
  size_t same = 0;
  while (same < open_.size() && same < now.size()) {
    if (calls_[open_[same]].file != now[same].file || !same_scope(same)) break;
    if (same > 0 && calls_[open_[same - 1]].runs.back().line != now[same - 1].line) break;
    ++same;
  }
  // One line that calls two modules of one kind is a loop over them.
  const bool again = same > 0 && same < open_.size() && same < now.size() &&
                     calls_[open_[same]].file == now[same].file;
  open_.resize(same);
  for (size_t i = same; i < now.size(); ++i) {
    open_.push_back(calls_.size());
    calls_.push_back({now[i].file, i == 0 ? kNone : open_[i - 1], i, id, id, {}, {}});
  }
  for (size_t i = 0; i < now.size(); ++i) {
    Call& call = calls_[open_[i]];
    call.last = id;
    if (call.runs.empty() || call.runs.back().line != now[i].line || (again && i + 1 == same)) {
      call.runs.push_back({now[i].line, parts_between(',', now[i].names), now[i].goes_on, id, id});
      for (const std::string_view name : call.runs.back().names)
        call.assigned[name].push_back(call.runs.size() - 1);
    }
    call.runs.back().last = id;
  }
  scopes_ = scopes;
  call_of_.back() = open_.back();
}

HeldNames::Meeting HeldNames::meet(TensorId in, NodeId reader) const {
  const NodeId producer = graph_.tensors[in].producer;
  if (producer == kNoNode || calls_.empty()) return {};
  size_t made = call_of_[producer], read = call_of_[reader];
  while (made != read) {
    if (made == kNone || read == kNone) return {};
    size_t& deeper = calls_[made].depth >= calls_[read].depth ? made : read;
    deeper = calls_[deeper].caller;
  }
  if (made == kNone) return {};
  const Call& both = calls_[made];
  return {&both, both.run_of(producer), both.run_of(reader)};
}

NodeId HeldNames::end_of_statement(TensorId in, NodeId reader) const {
  const Meeting at = meet(in, reader);
  if (!at.call || at.apart()) return kNoNode;
  return at.call->runs[at.read].last;
}

// A statement over several lines ends where its first line is run once more, before any other.
NodeId HeldNames::end_of(const Call& call, size_t run) const {
  const bool looped = run + 1 < call.runs.size() && call.runs[run + 1].line == call.runs[run].line;
  if (!call.runs[run].goes_on || looped) return call.runs[run].last;
  constexpr int kLongest = 40;  // lines
  const int begin = line_number(call.runs[run].line);
  for (size_t i = run + 1; i < call.runs.size(); ++i) {
    const int line = line_number(call.runs[i].line);
    if (line == begin) return call.runs[i].last;
    if (line < begin || line > begin + kLongest || !call.runs[i].names.empty()) break;
  }
  return call.runs[run].last;
}

// The call that `call` made and that the value comes from; kNone where `call` made it itself.
size_t HeldNames::inner_call(TensorId value, size_t call) const {
  size_t inner = kNone;
  for (size_t c = call_of_[graph_.tensors[value].producer]; c != call; c = calls_[c].caller)
    inner = c;
  return inner;
}

// A call that was to return one value more cut it off what nobody else reads: the statement's last
// name holds the whole (joint attention whose context goes no further).
void HeldNames::hold_rest(size_t call, NodeId end, const std::vector<size_t>& uses) {
  for (NodeId id = calls_[call].first; id <= calls_[call].last; ++id) {
    const Node& node = graph_.nodes[id];
    if (call_of_[id] != call || !has(node, OpRow::kSlices)) continue;
    const TensorId whole = node.inputs[0];
    const NodeId made = graph_.tensors[whole].producer;
    if (made == kNoNode || made < calls_[call].first || uses[whole] > 1) continue;
    if (until_[whole] == kNoNode || until_[whole] < end) until_[whole] = end;
  }
}

// When each name of a statement that made so many values is assigned anew.
std::vector<NodeId> HeldNames::ends_of_names(const Call& call, size_t run, size_t values) const {
  std::vector<std::string_view> names = call.runs[run].names;
  if (values < names.size()) std::erase(names, "_");
  if (names.empty()) names = call.runs[run].names;
  std::vector<NodeId> ends;
  for (const std::string_view name : names) {
    const auto& runs = call.assigned.at(name);
    const auto later = std::upper_bound(runs.begin(), runs.end(), run);
    ends.push_back(later == runs.end() ? call.last : end_of(call, *later));
  }
  return ends;
}

void HeldNames::find_ends() {
  // What each statement made that has a name, in the order in which it was made.
  std::map<std::pair<size_t, size_t>, std::vector<TensorId>> named;
  std::vector<NodeId> last_read(graph_.tensors.size(), 0);
  std::vector<size_t> uses(graph_.tensors.size(), 0);
  // The runs of a line in a loop whose values one later statement reads.
  std::map<std::tuple<const Call*, std::string_view, size_t>, std::vector<size_t>> together;
  for (NodeId id = 0; id < graph_.nodes.size(); ++id) {
    for (const TensorId in : graph_.nodes[id].inputs) {
      if (in == kNoTensor || graph_.tensors[in].kind != TensorKind::kValue) continue;
      ++uses[in];
      const Meeting at = meet(in, id);
      if (!at.apart() || at.call->runs[at.made].names.empty()) continue;
      named[{static_cast<size_t>(at.call - calls_.data()), at.made}].push_back(in);
      last_read[in] = std::max(last_read[in], end_of(*at.call, at.read));
      if (&calls_[call_of_[id]] != at.call) continue;  // parts of it were passed on
      auto& made = together[{at.call, at.call->runs[at.made].line, at.read}];
      if (std::ranges::find(made, at.made) == made.end()) made.push_back(at.made);
    }
  }
  std::set<std::pair<size_t, size_t>> listed;  // whose values went into a list, read as a whole
  for (const auto& [where, made] : together) {
    const auto call = static_cast<size_t>(std::get<0>(where) - calls_.data());
    if (made.size() < 2) continue;
    for (const size_t run : made) listed.emplace(call, run);
  }
  for (auto& [place, values] : named) {
    const Call& call = calls_[place.first];
    std::sort(values.begin(), values.end(), [&](TensorId a, TensorId b) {
      return std::pair(graph_.tensors[a].producer, a) < std::pair(graph_.tensors[b].producer, b);
    });
    values.erase(std::unique(values.begin(), values.end()), values.end());
    // What one call returns begins with what it computed last: x of "x, gate = self.norm(x)".
    const size_t maker = inner_call(values.back(), place.first);
    const bool in_parts =
        graph_.tensors[values.front()].producer == graph_.tensors[values.back()].producer;
    if (!in_parts && maker != kNone && maker == inner_call(values.front(), place.first))
      std::rotate(values.begin(), values.end() - 1, values.end());
    std::vector<NodeId> ends = ends_of_names(call, place.second, values.size());
    if (!in_parts) put_in_order(values, ends, last_read);
    if (maker != kNone && ends.size() == values.size() + 1) hold_rest(maker, ends.back(), uses);
    for (size_t i = 0; i < values.size(); ++i) {
      NodeId end = ends[std::min(i, ends.size() - 1)];
      // Read after its name has gone, it has another one, or is in a list: of that no more is
      // known, unless all that a loop made is read at once. Such a list has a name of its own.
      if (last_read[values[i]] > end && listed.contains(place)) end = call.last;
      end = std::max(end, last_read[values[i]]);
      NodeId& until = until_[values[i]];
      if (until == kNoNode || until < end) until = end;
    }
  }
}

}  // namespace plimsoll
