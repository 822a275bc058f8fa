// Graph: the forward model. Tensors and nodes with dense ids, nodes in topological order. Importers
// build it, passes rewrite it, and infer() fills in shapes; then it is not changed any more.
//
// Subgraphs do not appear here: an importer inlines functions, the chosen branch of an If and the
// iterations of a Loop or Scan, so that whoever reads a Graph sees one list of nodes.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/ir/attributes.h"
#include "graph/symbol/shape.h"

namespace plimsoll {

struct QuantizationRow;

using TensorId = uint32_t;
using NodeId = uint32_t;
inline constexpr TensorId kNoTensor = std::numeric_limits<TensorId>::max();
inline constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();

enum class TensorKind : uint8_t {
  kValue,      // produced by a node, or by none: fold() knows its contents
  kInput,      // fed at every step
  kParameter,  // an initializer: trained, or a statistic that a norm updates, or a constant table
};

// Contents that shapes or rules depend on. Never weights: at most a few thousand small numbers.
struct Contents {
  std::vector<int64_t> integers;  // of integer and bool tensors
  std::vector<double> reals;      // of float tensors
};

// Who wrote a file, as far as its habits are known.
enum class Exporter : uint8_t { kOther, kPyTorch };

// How a parameter came to be, as importers and passes say.
enum class Origin : uint8_t {
  kAuthored,   // the network's, under its author's name
  kFolded,     // an exporter computed it
  kGenerated,  // a Constant node of the file, or a pass's own: trained only as a `weight`
};

struct Tensor {
  std::string name;
  TensorKind kind = TensorKind::kValue;
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape;                // known from the file or by infer()
  std::shared_ptr<const Contents> contents;  // of constants, where small
  // Contents as Dims, where infer() can follow them. A float tensor's element i is dims[i] /
  // divisors[i] (scales computed from shapes); integers have no divisors.
  std::vector<Dim> dims;
  std::vector<Dim> divisors;
  bool has_dims = false;
  NodeId producer = kNoNode;
  Origin origin = Origin::kAuthored;
  // The operator whose result an exporter folded, where the parameter is called after it: "sub".
  std::string_view folded_by = {};
  // Stands where layers have their weights, however the file writes it (find_written_weights()), or
  // is told to be one (Graph::told).
  bool weight = false;
  // The exporter says that the module registered it as a buffer: it is not trained.
  bool buffer = false;
  // A parameter that this step leaves as it is, though it belongs to the network.
  bool frozen = false;
  // The module holds it, and no node of the file reads it.
  bool spare = false;
  // It is stored in this form, and widened for each product; null: as its type says.
  const QuantizationRow* quantized = nullptr;
};

// What importers and passes say about a node to whoever reads it later. None of it can come from a
// file's attributes.
struct NodeNotes {
  // The modules whose code was running, outermost first, where the exporter lists them:
  // "/layer1/layer1.0/layer1.0.conv1". (Its module's path names lists of modules too, which run
  // none.)
  std::string calls;
  // The statements that were running, outermost first, where the exporter lists them: the source
  // file, the line and the names that it assigns: "vit.py:66 x,mask;mlp.py:12". "+=" follows a name
  // that the statement adds to in place, "..." a line on which it does not end.
  std::string statements;
  // What the innermost of them casts, "self.weight>float,()>given": a name, a call's argument
  // ("softmax()") or the whole expression, to single precision or to some value's own type. In a
  // model of single precision the exporter leaves such casts out.
  std::string casts;
  bool contiguous = false;    // its line copies what it transposes into its own order
  bool reshapes = false;      // its line reshapes, which copies where no view will do
  bool writes_part = false;   // its line writes into a part of a tensor: x[:, 1] = y
  bool pad_merged = false;    // an exporter merged a Pad into it
  bool norm_merged = false;   // or a batch norm
  bool bias_removed = false;  // or dropped its bias, of zeros
  bool fused_norm = false;    // a piece of the framework's own RMS norm
  bool plain_norm = false;    // a norm without a weight: the exporter wrote ones for one
  bool chunks = false;        // a Split that people wrote as chunks: parts stay apart from readers
  bool unbound = false;       // a Split whose parts are squeezed, as torch.unbind's
  bool values_alone = false;  // an extremum that was asked for without positions
  bool positions = false;     // or with them
  bool widens = false;        // a Cast to single precision that was put back
  bool narrows = false;       // the one that goes back to the type that it was
  bool no_autocast = false;   // its code switches mixed precision off
  bool no_grad = false;       // and autograd: nothing is kept, nothing gets a gradient
  bool on_device = false;     // the GPU computes it, though no data goes into it
  bool free = false;          // an unknown operator that was said to cost nothing
  // The module whose code has a name for the last of its outputs, until it returns:
  // "model.layers.0"; "." is the model itself.
  std::string local_to;
  // A symbol: the program runs it in a loop, once for each of what the symbol counts.
  std::string turns;
  // An activation that runs in place; of a sum, the operand that it is written to, counted from 1.
  int in_place = 0;
};

struct Node {
  std::string op;         // "Conv"
  std::string domain;     // "" for ONNX's own; "plimsoll" for the composites that recover() makes
  std::string name;       // may be empty or repeated: ids are keys, names are for people
  std::string module;     // "layer1.0.conv1", where the exporter says
  Attributes attributes;  // the operator's own, as its row names them
  NodeNotes notes{};
  std::vector<TensorId> inputs;  // kNoTensor for an omitted optional input
  std::vector<TensorId> outputs;
};

// A branch of an If that was taken though its condition is not known. Whatever its nodes cost, and
// whatever goes wrong in them or behind them, follows from that.
struct Guess {
  std::string node;               // "node 3 'choice' (If)"
  std::string taken;              // "then"
  std::string remedy;             // the setting for the other
  TensorId first = 0, end = 0;    // tensors of the branch
  std::vector<TensorId> outputs;  // and of the If
};

struct Graph {
  std::string name;
  std::string producer;  // "pytorch 2.4.0"
  Exporter exporter = Exporter::kOther;
  int64_t opset = 0;
  // The file says what each of its tensors is to the module (`weight`, `frozen`, `buffer` or none
  // of them) and what runs in place, as from_torch() writes it: neither is guessed.
  bool told = false;
  // Parameters of the module, by path, that no array of the file is called after: folded ones, and
  // those of two names. Empty where the exporter lists none.
  std::set<std::string, std::less<>> unwritten;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  // The batch found as a constant in the graph's inputs and made a symbol again; 0 where the file
  // has it dynamic already. Reshape targets that carry it are stretched by infer().
  int64_t baked_batch = 0;
  std::string batch_symbol = "batch";
  // Values to use for symbols nobody binds, from the file or config (a config's hyper-parameters).
  Binding defaults;
  // What the importer decided at the values of symbols when it wrote out control flow: elsewhere
  // it is another graph.
  std::vector<Guard> guards;
  std::vector<Guess> guesses;  // inner ones after outer ones

  TensorId add_tensor(Tensor tensor);
  NodeId add_node(Node node);  // sets the producer of its outputs
};

// "node 57 '/layer3/conv2/Conv' (Conv)", escaped for display.
std::string describe(const Graph& graph, NodeId node);

// Adds to the help of diagnostics[from..] that the guess may be wrong.
void add_guess(Diagnostics& diagnostics, size_t from, const Guess& guess);

// For each tensor, the nodes that read it, in order; one entry per use. Of the graph as it is now.
class Consumers {
 public:
  explicit Consumers(const Graph& graph);
  std::span<const NodeId> operator[](TensorId tensor) const {
    return std::span(nodes_).subspan(begin_[tensor], begin_[tensor + 1] - begin_[tensor]);
  }

 private:
  std::vector<NodeId> nodes_;    // of one tensor after another
  std::vector<uint32_t> begin_;  // in nodes_; one more, the end
};

// For each tensor, whether a node reads it.
std::vector<char> read_by_nodes(const Graph& graph);

// E221 a name nobody produces, E222 produced twice, E223 a cycle (names it). Sorts the nodes if
// they are not in topological order (W202).
Result<void> verify(Graph& graph, Diagnostics& warnings);

// Symbols that the shapes of inputs, and of parameters, depend on.
std::set<std::string> free_symbols(const Graph& graph);

}  // namespace plimsoll
