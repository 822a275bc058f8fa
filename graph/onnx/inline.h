// From a file's graphs to one list of nodes: functions, one branch of an If and the iterations of
// Loops and Scans are written out in place. Which branch and how many iterations may depend on
// shapes: see KnownValues.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "graph/ir/graph.h"
#include "graph/onnx/frame.h"
#include "graph/onnx/import_options.h"
#include "graph/onnx/initializer.h"
#include "graph/onnx/inline_budget.h"
#include "graph/onnx/inline_embedding_bag.h"
#include "graph/onnx/known_values.h"
#include "graph/onnx/model.h"

namespace plimsoll::onnx {

bool is_sequence_operator(std::string_view op);

// Adds the model's initializers, nodes and outputs to a graph that has its inputs already. Takes
// strings out of the model. Nothing recurses: a stack of frames stands for the nesting.
class Inliner {
 public:
  Inliner(ModelSpec& model, const ImportOptions& options, Graph& graph, Diagnostics& warnings)
      : model_(model),
        options_(options),
        graph_(graph),
        warnings_(warnings),
        functions_(model),
        known_(graph, options) {}

  Result<void> run();

 private:
  GraphSpec& spec_of(const Frame& frame) { return model_.graphs[frame.graph]; }
  // "node 12 '/conv/Conv' (Conv)", counted as in the file.
  Place place(const Frame& frame, const NodeSpec& node) const;

  // Frames (inline.cc).
  Result<void> check_growth() const;
  Result<void> write_out();
  Result<void> start();
  Result<void> push(Frame frame, bool with_constants = true);
  Result<void> declare_constants(Frame& frame);
  Result<void> declare_values(Frame& frame);
  Result<void> declare(Frame& frame, const std::string& name, Tensor tensor);
  Result<void> name_outputs(const Frame& main);
  Result<void> step();
  Result<void> finish();
  void tell();

  // Nodes (inline.cc).
  Result<void> visit(Frame& frame, NodeSpec& spec);
  Result<void> plain(Frame& frame, NodeSpec& spec);
  // Takes what the operator's row does not name from the node, and notes it.
  void drop_foreign(Node& node);
  Result<void> call(Frame& frame, const NodeSpec& spec, const FunctionSpec& function);
  Result<std::vector<TensorId>> inputs_of(const Frame& frame, const NodeSpec& spec) const;
  std::vector<TensorId> outputs_of(const Frame& frame, const NodeSpec& spec) const;
  Frame inner(const Frame& frame, const NodeSpec& spec, GraphIndex graph) const;
  Result<void> add(Node node);
  // A node made here, which stands for `frame`'s plumbing.
  Result<void> add(const Frame& frame, std::string op, std::vector<TensorId> inputs,
                   TensorId output, Attributes attributes = {});

  // Branches (inline_branch.cc).
  Result<void> branch(Frame& frame, const NodeSpec& spec);
  // `then` of an If, or whether a question's answer is yes; with the guess that it is, of
  // asked_guesses_.
  struct Answer {
    bool then = false;
    std::optional<size_t> guess;
  };
  // Of a condition that is not known. `asked`: what the user says, or null.
  Answer answer_to(const Frame& frame, const NodeSpec& spec, TensorId condition,
                   const std::string* asked, bool larger_is_then);
  size_t note_guess(size_t guess, const std::vector<TensorId>& outputs);
  // What the condition is made of, so that two that ask the same have one text; `negated` where it
  // denies it.
  std::string question(TensorId condition, bool& negated) const;
  // The input that decides it: " of input 'sr'".
  std::string decided_by(TensorId condition) const;
  void warn_of_guesses();
  void warn_of_unused();
  std::optional<size_t> guess_here() const;
  Diagnostics with_guesses(Diagnostics diagnostics) const;

  // Loops (inline_loop.cc).
  Result<void> loop(Frame& frame, const NodeSpec& spec);
  // The one operator that such a loop stands for.
  std::optional<Node> embedding_bag(const Frame& frame, const NodeSpec& spec,
                                    const BagLoop& loop) const;
  std::optional<std::vector<TensorId>> looked_up(TensorId rows) const;
  Result<void> add_bags(const Frame& frame, const NodeSpec& spec, const BagLoop& loop, Node node);
  Result<void> scan(Frame& frame, const NodeSpec& spec);
  Result<void> start_loop(Frame& frame, const NodeSpec& spec, LoopState state);
  Result<void> foresee(const LoopState& state) const;
  Result<void> advance(Frame& frame);
  Result<void> iterate(Frame& frame);
  Result<void> stack_outputs(Frame& frame);
  Result<void> change_axis(const Frame& frame, std::string op, TensorId from, int64_t axis,
                           TensorId target);
  // `parts` side by side along a new axis.
  Result<void> stack(const Frame& frame, const std::vector<TensorId>& parts, int64_t axis,
                     TensorId target);
  void receive(const std::vector<TensorId>& results);
  // E802 where so many more iterations of a body would be too many nodes.
  Result<void> afford(Place place, GraphIndex body, int64_t iterations) const;
  // Remembers a loop whose number of iterations the user must say, for one message about all.
  int64_t ask_trips(const Frame& frame, const NodeSpec& spec, std::string why);
  std::optional<Diagnostics> unknown_trips() const;
  TensorId add_value(std::string name);

  // Lists of tensors, and optional ones (inline_sequence.cc).
  Result<void> sequence(Frame& frame, const NodeSpec& spec);
  Result<void> pick(Frame& frame, const NodeSpec& spec, TensorId element);
  Result<void> optional(const Frame& frame, const NodeSpec& spec,
                        const std::vector<TensorId>& inputs, TensorId target);
  Result<void> change_list(const Frame& frame, const NodeSpec& spec,
                           const std::vector<TensorId>& inputs, std::vector<TensorId> elements,
                           TensorId target);
  Result<void> unpack_outputs();
  Result<void> split_to_list(const Frame& frame, const NodeSpec& spec,
                             const std::vector<TensorId>& inputs, TensorId target);
  // The extents of the parts; nothing where data decide them.
  std::optional<std::vector<int64_t>> parts_of(const NodeSpec& spec,
                                               const std::vector<TensorId>& inputs);
  // A value that is known after all, in place of the node that gives it.
  void become_constant(TensorId target, DType dtype, int64_t value);
  Result<void> join_list(const Frame& frame, const NodeSpec& spec,
                         const std::vector<TensorId>& parts, TensorId target);
  // E802 where more elements of lists are copied than nodes are allowed: a loop that fills a list
  // makes a new one, and no node, each time.
  Result<void> charge(size_t elements);
  // The value `target` is the list of `elements` from now on.
  Result<void> hold(TensorId target, std::vector<TensorId> elements);
  // The list that the first of `inputs` is; null where it is none.
  const std::vector<TensorId>* list(const std::vector<TensorId>& inputs) const;
  std::optional<size_t> list_index(TensorId index, size_t size);
  tl::unexpected<Diagnostics> unknown_list(const Frame& frame, const NodeSpec& spec) const;

  ModelSpec& model_;
  const ImportOptions& options_;
  Graph& graph_;
  Diagnostics& warnings_;
  Functions functions_;
  std::vector<int64_t> expanded_;  // nodes of each graph, subgraphs and functions written out
  std::deque<Frame> stack_;        // references stay good while frames come and go on top
  std::unordered_map<TensorId, std::vector<TensorId>> lists_;
  size_t list_elements_ = 0;             // copied so far
  std::unordered_set<TensorId> absent_;  // optionals without a tensor
  ParameterNotes notes_;
  // Attributes that their operators do not have, and at how many nodes.
  std::map<std::pair<std::string, std::string>, int64_t> foreign_;
  KnownValues known_;
  struct UnknownTrips {
    Place place;
    std::string handle, why;
    std::optional<size_t> guess;
  };
  std::vector<UnknownTrips> unknown_trips_;
  std::set<const void*> used_, overruled_;  // values in ImportOptions::trips and branches
  int64_t idle_iterations_ = 0;             // that added no node, but cost time
  std::map<std::string, Answer> answers_;   // by question
  std::vector<Guess> asked_guesses_;        // one for each question
  std::string decided_by_;                  // the first of them
};

}  // namespace plimsoll::onnx
