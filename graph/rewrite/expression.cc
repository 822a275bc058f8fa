#include "graph/rewrite/expression.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>

#include "graph/ir/text_reader.h"
#include "graph/ops/op_row.h"

namespace plimsoll::patterns {

using notation::is_name_character;
using notation::is_symbol_character;
using notation::Reader;

class ExpressionReader {
 public:
  void line(std::string_view text, int number) {
    Reader in(text, number);
    if (in.at_end()) return;
    std::vector<int> outputs;
    do {
      outputs.push_back(name(in.word(is_symbol_character, "a name")));
    } while (!in.failed() && in.take(","));
    in.expect("=");
    Term made = ways(in);
    if (!in.failed() && !in.at_end()) in.fail("expected the end of the line");
    for (const int output : outputs) {
      made.name = output;
      if (!in.failed() && !made_.emplace(output, made).second) in.fail("a name is defined twice");
    }
    if (outputs.size() > 1) {
      for (const size_t call : made.calls) result_.calls_[call].outputs = outputs;
    }
    made.name = outputs.front();
    result_.root_ = std::move(made);
    if (in.failed()) failure_ = in.failure();
  }

  bool failed() const { return failure_.has_value(); }
  Result<Expression> take() {
    if (failure_) return *failure_;
    return std::move(result_);
  }

 private:
  using Term = Expression::Term;
  using Call = Expression::Call;

  int name(const std::string& word) {
    auto& names = result_.names_;
    const size_t at =
        static_cast<size_t>(std::find(names.begin(), names.end(), word) - names.begin());
    if (at == names.size()) names.push_back(word);
    return static_cast<int>(at);
  }

  Term ways(Reader& in) {
    Term made;
    made.kind = Term::Kind::kMade;
    do {
      made.calls.push_back(call(in));
    } while (!in.failed() && in.take("|"));
    return made;
  }

  size_t call(Reader& in) {
    Call read;
    do {
      const std::string word = in.word(is_name_character, "an operator");
      const OpRow* row = find_op("", word.substr(word.rfind(':') + 1));
      read.operators.push_back({word, row && (row->traits & OpRow::kCommutes)});
    } while (!in.failed() && in.take("|"));
    if (in.take("*")) read.form = Call::Form::kFactors;
    if (in.take("?")) read.form = Call::Form::kOrNone;
    in.expect("(");
    while (!in.failed() && !in.take(")")) {
      read.operands.push_back(operand(in));
      if (!read.operands.back().optional) read.required = read.operands.size();
      if (!in.peek(")")) in.expect(",");
    }
    if (in.take("{?}")) {
      read.takes_attributes = true;
    } else if (in.peek("{")) {
      read_attributes(in, read.attributes);
    }
    result_.calls_.push_back(std::move(read));
    return result_.calls_.size() - 1;
  }

  Term operand(Reader& in) {
    Term term = value(in);
    if (in.take("?")) term.optional = true;
    if (in.take("!")) term.sole = true;
    return term;
  }

  Term value(Reader& in) {
    const std::string_view rest = in.rest();
    const char first = rest.empty() ? ' ' : rest.front();
    Term term;
    if (std::isdigit(static_cast<unsigned char>(first)) || first == '-') {
      const AttributeValue number = in.number();
      const auto* whole = std::get_if<int64_t>(&number);
      term.kind = Term::Kind::kNumber;
      term.number = whole ? static_cast<double>(*whole) : std::get<double>(number);
    } else if (std::isupper(static_cast<unsigned char>(first))) {
      term.kind = Term::Kind::kMade;
      term.calls.push_back(call(in));
    } else if (in.take("#")) {
      term.kind = Term::Kind::kHostNumber;
      if (std::isalpha(static_cast<unsigned char>(in.rest().empty() ? ' ' : in.rest().front())))
        term.name = name(in.word(is_symbol_character, "a name"));
    } else {
      const bool of_file = in.take("$");
      const std::string word = in.word(is_symbol_character, "an operand");
      if (word != "_") term = named(word);
      term.of_file = of_file;
    }
    return term;
  }

  // What a line above makes, or any tensor.
  Term named(const std::string& word) {
    const int index = name(word);
    const auto made = made_.find(index);
    if (made != made_.end()) return made->second;
    Term any;
    any.kind = Term::Kind::kTensor;
    any.name = index;
    return any;
  }

  Expression result_;
  std::map<int, Term> made_;  // by name
  std::optional<tl::unexpected<Diagnostics>> failure_;
};

// Finds what an expression's names stand for: a list of what is still to be shown, of which each
// choice makes a copy.
class Search {
 public:
  Search(const Rewrite& rewrite, const Expression& expression, bool (*accept)(const Match&))
      : r_(rewrite), e_(expression), accept_(accept) {}

  std::optional<Match> from(NodeId root) const {
    Match match(r_, e_.names_, root);
    const auto& outputs = r_.node(root).outputs;
    const TensorId first = outputs.empty() ? kNoTensor : outputs.front();
    return solve({{first, root, &e_.root_}}, std::move(match));
  }

 private:
  using Term = Expression::Term;
  using Call = Expression::Call;
  struct Goal {
    TensorId tensor;
    NodeId maker;
    const Term* term;
  };
  using Goals = std::vector<Goal>;  // the next one last

  std::optional<Match> solve(Goals goals, Match match) const {
    while (!goals.empty()) {
      const Goal goal = goals.back();
      goals.pop_back();
      const Term& term = *goal.term;
      const bool known =
          term.name >= 0 && match.tensors_[static_cast<size_t>(term.name)] != kNoTensor;
      if (!holds(goal, match)) return std::nullopt;
      if (term.kind == Term::Kind::kMade && !known) return made(goal, goals, match);
    }
    return !accept_ || accept_(match) ? std::optional(std::move(match)) : std::nullopt;
  }

  // All that can be said of the tensor itself; binds its name.
  bool holds(const Goal& goal, Match& match) const {
    const Term& term = *goal.term;
    if (term.kind == Term::Kind::kNumber && !r_.is_number(goal.tensor, term.number)) return false;
    if (term.kind == Term::Kind::kHostNumber && !r_.is_host_number(goal.tensor)) return false;
    if (term.sole && r_.uses(goal.tensor) != 1) return false;
    if (term.of_file) {
      const Tensor& t = r_.tensor(goal.tensor);
      const bool folded = t.contents && t.producer == kNoNode;
      if (t.kind != TensorKind::kParameter && !folded) return false;
    }
    return term.name < 0 || bind(term.name, goal.tensor, match);
  }

  static bool bind(int name, TensorId tensor, Match& match) {
    TensorId& bound = match.tensors_[static_cast<size_t>(name)];
    if (bound == kNoTensor) bound = tensor;
    return bound == tensor;
  }

  std::optional<Match> made(const Goal& goal, const Goals& rest, const Match& match) const {
    for (const size_t way : goal.term->calls) {
      if (auto found = made_by(e_.calls_[way], goal, rest, match)) return found;
    }
    return std::nullopt;
  }

  std::optional<Match> made_by(const Call& call, const Goal& goal, const Goals& rest,
                               const Match& match) const {
    const Node* node = goal.maker == kNoNode ? nullptr : &r_.node(goal.maker);
    const auto op = std::find_if(call.operators.begin(), call.operators.end(),
                                 [&](const auto& one) { return node && node->op == one.name; });
    if (op == call.operators.end()) {
      if (call.form != Call::Form::kOrNone) return std::nullopt;
      return solve(with(rest, {goal.tensor}, call.operands, {0}), match);
    }
    Match next = match;
    if (!agrees(call, *node, next)) return std::nullopt;
    const bool factors = call.form == Call::Form::kFactors;
    const std::vector<TensorId> values = factors ? factors_of(*node) : node->inputs;
    const size_t count = call.operands.size();
    if (values.size() < call.required || (factors && values.size() != count)) return std::nullopt;
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    const bool any_order = factors || (op->commutes && count == 2 && values.size() >= 2);
    do {
      if (!all_there(values, call.operands, order)) continue;
      if (auto found = solve(with(rest, values, call.operands, order), next)) return found;
    } while (any_order && std::next_permutation(order.begin(), order.end()));
    return std::nullopt;
  }

  // Its attributes and its outputs.
  bool agrees(const Call& call, const Node& node, Match& match) const {
    for (const auto& [name, value] : call.attributes.entries()) {
      const auto& given = node.attributes.entries();
      const bool same =
          std::any_of(given.begin(), given.end(), [&, &n = name, &v = value](const auto& one) {
            return one.first == n && one.second == v;
          });
      if (!same) return false;
    }
    if (call.takes_attributes) match.attributes = node.attributes;
    if (call.outputs.empty()) return true;
    if (node.outputs.size() != call.outputs.size()) return false;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!bind(call.outputs[i], node.outputs[i], match)) return false;
    }
    return true;
  }

  static TensorId value_at(const std::vector<TensorId>& values, size_t index) {
    return index < values.size() ? values[index] : kNoTensor;
  }
  static bool all_there(const std::vector<TensorId>& values, const std::vector<Term>& operands,
                        const std::vector<size_t>& order) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].optional && value_at(values, order[i]) == kNoTensor) return false;
    }
    return true;
  }

  // The operands, first to last, before the rest.
  Goals with(Goals rest, const std::vector<TensorId>& values, const std::vector<Term>& operands,
             const std::vector<size_t>& order) const {
    for (size_t i = operands.size(); i-- > 0;) {
      const TensorId value = value_at(values, order[i]);
      if (value != kNoTensor) rest.push_back({value, r_.producer(value), &operands[i]});
    }
    return rest;
  }

  // Of a product of products: inner ones that only this one reads are opened.
  std::vector<TensorId> factors_of(const Node& product) const {
    constexpr size_t kMost = 8;
    std::vector<TensorId> open(product.inputs.rbegin(), product.inputs.rend());
    std::vector<TensorId> factors;
    while (!open.empty() && factors.size() < kMost) {
      const TensorId t = open.back();
      open.pop_back();
      const Node* inner = r_.made_by(t, product.op);
      if (inner && r_.uses(t) == 1) {
        open.insert(open.end(), inner->inputs.rbegin(), inner->inputs.rend());
      } else {
        factors.push_back(t);
      }
    }
    return factors;
  }

  const Rewrite& r_;
  const Expression& e_;
  bool (*accept_)(const Match&);
};

TensorId Match::operator[](std::string_view name) const {
  const auto known = std::find(names_->begin(), names_->end(), name);
  if (known == names_->end()) return kNoTensor;
  return tensors_[static_cast<size_t>(known - names_->begin())];
}

Result<Expression> Expression::parse(std::string_view text) {
  ExpressionReader reader;
  for (int number = 1; !text.empty() && !reader.failed(); ++number)
    reader.line(notation::next_line(text), number);
  return reader.take();
}

std::vector<std::string_view> Expression::roots() const {
  std::vector<std::string_view> all;
  for (const size_t way : root_.calls) {
    for (const Operator& op : calls_[way].operators) all.push_back(op.name);
  }
  return all;
}

std::optional<Match> Expression::match(const Rewrite& rewrite, NodeId at,
                                       bool (*accept)(const Match&)) const {
  return Search(rewrite, *this, accept).from(at);
}

Node Expression::node(const Match& match) const {
  const Call& call = calls_[root_.calls.front()];
  const std::string_view op = call.operators.front().name;
  const size_t colon = op.rfind(':');
  Node node;
  node.op = colon == op.npos ? op : op.substr(colon + 1);
  node.domain = colon == op.npos ? "" : op.substr(0, colon);
  node.attributes = call.takes_attributes ? match.attributes : call.attributes;
  for (const Term& operand : call.operands)
    node.inputs.push_back(match[names_[static_cast<size_t>(operand.name)]]);
  while (!node.inputs.empty() && node.inputs.back() == kNoTensor) node.inputs.pop_back();
  return node;
}

bool Expression::knows(const Expression& other) const {
  if (other.root_.calls.empty()) return false;
  const auto& operands = other.calls_[other.root_.calls.front()].operands;
  return std::all_of(operands.begin(), operands.end(), [&](const Term& operand) {
    if (operand.name < 0) return false;
    const std::string& name = other.names_[static_cast<size_t>(operand.name)];
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  });
}

}  // namespace plimsoll::patterns
