#include <array>
#include <cmath>
#include <map>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// What an exporter writes for one function, as an expression: (Op operand ...), lower-case letters
// for tensors that are the same wherever the letter stands, a number for itself, # for any host
// number, _ for whatever there is. Sums and products match in either order.
struct Function {
  std::string_view pattern, op, written, operands;
};

constexpr Function kFunctions[] = {
    {"atan2", "Atan2",
     "(Where (Less b 0) (Where (Greater a 0) (Add (Atan (Div a b)) #) (Sub (Atan (Div a b)) #)) "
     "(Atan (Div a b)))",
     "ab"},
    {"logaddexp", "Logaddexp", "(Log (Add (Exp a) (Exp b)))", "ab"},
    {"hard shrink", "Hardshrink", "(Where (Or (Cast (Greater a #)) (Cast (Less a #))) a 0)", "a"},
    {"hard shrink", "Hardshrink", "(Where (Or (Greater a #) (Less a #)) a 0)", "a"},
    {"soft shrink", "Softshrink",
     "(Add (Where (Greater a #) (Sub a #) 0) (Where (Less a #) (Add a #) 0))", "a"},
    {"variance", "Var", "(ReduceMean (Mul (Sub a (ReduceMean a)) (Sub a (ReduceMean a))))", "a"},
    {"variance", "Var", "(Div (Mul (Var a) #) #)", "a"},  // with Bessel's correction
    {"standard deviation", "Std", "(Sqrt (Var a))", "a"},
    {"cosine similarity", "CosineSimilarity",
     "(Div (ReduceSum (Mul a b)) (Max (Sqrt (Mul (ReduceSum (Mul a a)) (ReduceSum (Mul b b)))) #))",
     "ab"},
    // The exporter shifts the root's power a little: people do not.
    {"distances", "Cdist",
     "(Pow (ReduceSum (Pow (Sub (Unsqueeze a _) (Unsqueeze b _)) #)) (Div 1 (Add # #)))", "ab"},
    {"distances", "EuclideanDist",
     "(Sqrt (Max (MatMul (Concat (Mul a -2) (ReduceSum (Pow a 2)) _) "
     "(Transpose (Concat b _ (ReduceSum (Pow b 2))))) 0))",
     "ab"},
    {"distances", "EuclideanDist",
     "(Sqrt (Clip (MatMul (Concat (Mul a -2) (ReduceSum (Pow a 2)) _) "
     "(Transpose (Concat b _ (ReduceSum (Pow b 2))))) 0))",
     "ab"},
    {"bilinear layer", "Bilinear", "(Squeeze (MatMul (Reshape (MatMul a c) _) (Unsqueeze b _)) _)",
     "abc"},
    {"mean squared error", "MseLoss",
     "(ReduceMean (Mul (Sub (Expand a _) (Expand b _)) (Sub (Expand a _) (Expand b _))))", "ab"},
    {"smooth L1 loss", "SmoothL1Loss",
     "(ReduceMean (Where (Less (Abs (Sub a b)) #) (Mul (Pow (Abs (Sub a b)) 2) #) "
     "(Sub (Abs (Sub a b)) #)))",
     "ab"},
    {"Huber loss", "HuberLoss",
     "(ReduceMean (Where (Less (Abs (Sub a b)) #) (Mul (Mul (Abs (Sub a b)) #) (Abs (Sub a b))) "
     "(Sub (Abs (Sub a b)) #)))",
     "ab"},
    {"binary cross entropy with logits", "BceLogitsLoss",
     "(ReduceMean (Neg (Add (Mul b (Log (Sigmoid a))) (Mul (Sub 1 b) (Log (Sub 1 (Sigmoid a)))))))",
     "ab"},
    {"binary cross entropy", "BceLoss",
     "(ReduceMean (Sub (Mul (Sub b 1) (Max (Log (Add (Neg a) 1)) -100)) (Mul b (Max (Log a) "
     "-100))))",
     "ab"},
    {"Kullback-Leibler divergence", "KlDivLoss",
     "(ReduceSum (Where (Greater b 0) (Mul b (Sub (Log b) a)) _))", "ab"},
};

using Bindings = std::map<char, TensorId>;

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

// The expression's parts one by one: "(Op", an operand, ")".
std::string_view next_word(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  size_t length = 1;
  if (!text.empty() && text.front() != ')') {
    while (length < text.size() && text[length] != ' ' && text[length] != ')' &&
           text[length] != '(') {
      ++length;
    }
  }
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(std::min(length, text.size()));
  return word;
}

// `text` without its first expression, which `skipped` gets.
std::string_view after_expression(std::string_view text, std::string_view& skipped) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::string_view from = text;
  int depth = 0;
  do {
    const std::string_view word = next_word(text);
    if (word.empty()) break;
    if (word.front() == '(') ++depth;
    if (word.front() == ')') --depth;
  } while (depth > 0);
  skipped = from.substr(0, from.size() - text.size());
  return text;
}

class Matcher {
 public:
  explicit Matcher(const Rewrite& r) : r_(r) {}
  Bindings bound;

  // Depth is the written expression's.
  bool matches(TensorId tensor, std::string_view expression) {
    if (tensor == kNoTensor) return false;
    if (expression.front() != '(') return matches_operand(tensor, expression);
    std::string_view rest = expression.substr(0, expression.size() - 1);
    const std::string_view op = next_word(rest).substr(1);
    const Node* node = r_.made_by(tensor, op);
    if (!node) return false;
    std::vector<std::string_view> operands;
    while (!rest.empty()) {
      std::string_view operand;
      rest = after_expression(rest, operand);
      if (!operand.empty()) operands.push_back(operand);
    }
    if (node->inputs.size() < operands.size()) return false;
    const Bindings before = bound;
    if (all_match(*node, operands, false)) return true;
    const bool either = op == "Add" || op == "Mul" || op == "Or" || op == "Max";
    if (!either || operands.size() != 2) return false;
    bound = before;
    return all_match(*node, operands, true);
  }

 private:
  bool all_match(const Node& node, const std::vector<std::string_view>& operands, bool swapped) {
    for (size_t i = 0; i < operands.size(); ++i) {
      const size_t at = swapped ? operands.size() - 1 - i : i;
      if (!matches(node.inputs[at], operands[i])) return false;
    }
    return true;
  }

  bool matches_operand(TensorId tensor, std::string_view operand) {
    if (operand == "_") return true;
    if (operand == "#") return r_.is_host_number(tensor);
    if (is_letter(operand.front())) {
      const auto [at, is_new] = bound.try_emplace(operand.front(), tensor);
      return is_new || at->second == tensor;
    }
    return r_.is_number(tensor, std::stod(std::string(operand)));
  }

  const Rewrite& r_;
};

bool is_one_number(const Rewrite& r, TensorId tensor) {
  const auto& shape = r.tensor(tensor).shape;
  return shape && elements(*shape) == Dim(1);
}

// The reduction over which `y` is a variance, its root or a similarity.
const Node* reduction_of(const Rewrite& r, TensorId y) {
  for (size_t steps = 0; steps < 4; ++steps) {
    const NodeId id = r.producer(y);
    if (id == kNoNode || r.node(id).inputs.empty()) break;
    const std::string& op = r.node(id).op;
    if (op == "ReduceMean" || op == "ReduceSum" || op == "Var") return &r.node(id);
    y = r.node(id).inputs[0];
  }
  return nullptr;
}

void put_together(Finder& f, NodeId id, const Function& function) {
  const TensorId y = f.r.node(id).outputs[0];
  const bool loss = function.op.ends_with("Loss");
  if (loss && !is_one_number(f.r, y)) return;
  Matcher matcher(f.r);
  if (!matcher.matches(y, function.written)) return;
  // An exporter's own pieces have numbers for names ("val_14"); what people squeeze has not.
  if (function.op == "Bilinear" && !f.r.tensor(y).name.starts_with("val_")) return;
  std::vector<TensorId> inputs;
  for (const char letter : function.operands) inputs.push_back(matcher.bound[letter]);
  const auto rank = static_cast<int64_t>(f.r.rank(y));
  const bool reduces =
      function.op == "Var" || function.op == "Std" || function.op == "CosineSimilarity";
  const Node* reduction = reduces ? reduction_of(f.r, y) : nullptr;
  if (reduction && reduction->inputs.size() > 1) inputs.push_back(reduction->inputs[1]);
  const Attributes axes = reduction ? reduction->attributes : Attributes();
  const size_t before = f.r.deaths();
  Node& node = f.r.replace(id, "plimsoll", function.op, std::move(inputs));
  if (loss) node.attributes.set("rank", rank);
  for (const auto& [name, value] : axes.entries()) node.attributes.set(name, value);
  f.note(function.pattern, id, before);
}

}  // namespace

void functions(Finder& f) {
  for (NodeId id = 0; id < f.r.nodes(); ++id) {
    for (const Function& function : kFunctions) {
      const std::string_view last = function.written.substr(1, function.written.find(' ') - 1);
      if (f.r.dead(id) || f.r.node(id).op != last || f.r.node(id).outputs.size() != 1) continue;
      put_together(f, id, function);
    }
  }
}

}  // namespace plimsoll::patterns
