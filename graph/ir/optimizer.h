// Optimizers: what each keeps of a parameter, and its step as the kernels that its library
// launches. One row each, in graph/eager/optimizers.cc; commands, schemas and measured records take
// their words from the rows, so that a new optimizer is one more row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/symbol/shape.h"

namespace plimsoll {

namespace eager {
class Machine;
class Value;
}  // namespace eager

enum class UpdateForm : uint8_t {
  kForeach,  // a kernel for each line of the update takes all parameters of one type
  kFused,    // one kernel takes them for the whole update
  kLoop,     // a kernel for each line and parameter
};

// The type of a state or temporary of a parameter.
using TypeOf = TensorType (*)(const TensorType& parameter);

// One line of an update: a kernel over the parameters of a group, or over one of them.
struct UpdatePass {
  enum class When : uint8_t { kAlways, kDecays, kDoesNotDecay };  // whether weights decay
  // Lists of tensors that it is handed. With them, and with numbers that differ from tensor to
  // tensor, grows what a launch must be told, which bounds the tensors that one launch takes.
  int lists = 1;
  bool scalars = false;
  int read = 0, written = 0;  // of tensors of one type: ...
  TypeOf over = nullptr;      // ... null: the parameter's
  bool states = false;        // and of all states, which it reads and writes
  int flop = 2;               // for each element
  TypeOf made = nullptr;      // what it writes to new memory, which a name holds from then on;
  int into = 0;               // what that held before goes
  uint8_t frees = 0;          // names that hold nothing after it, as bits
  When when = When::kAlways;
  // What it makes of what the name holds, by kernels of its own; nothing else here counts then.
  eager::Value (*compute)(eager::Machine& m, const eager::Value& held) = nullptr;
};
// The names by which an update's code holds its temporaries, as Python's variables do: also from
// one group of parameters to the next, until something else is assigned.
inline constexpr size_t kUpdateNames = 5;

// How parameters of one kind are updated.
struct UpdateRule {
  UpdateForm form = UpdateForm::kForeach;
  // Of this kind are those that no rule before takes; null: all.
  bool (*applies)(const TensorType& parameter, Decider& decider) = nullptr;
  std::span<const TypeOf> states{};  // in the order of their creation
  std::span<const TypeOf> shared{};  // states that all its parameters have in common
  std::span<const UpdatePass> passes{};
  // Worked: "f32[64,32] -> f32[64,32] f32[64,32] f32[] | 4 read 3 written": a parameter, its
  // states, and how many times its bytes the kernels read and write; "1 held": and temporaries hold
  // at most. Checked.
  std::string_view example{};
};

struct OptimizerRow {
  std::string_view name;  // "adamw-fused"
  std::span<const UpdateRule> rules;
  // The first step makes the states of (decayed) gradients, among the update's temporaries; else
  // all states are there before it computes.
  bool states_of_gradients = false;
  std::string_view spoken{};  // by which words records of measured runs say it; "": its name
  // The library and its version; "no library" where there is none to compare with.
  std::string_view source;
  std::string_view smaller{};  // one with smaller states, to offer where memory is short; "": none
  // TensorFlow has one operator for it (tensorflow/core/kernels/training_ops.cc); else its update
  // is composed where the framework composes.
  bool has_operator = false;
};

// All rows; find_optimizer("momentum") is what runs unless another one is asked for.
std::span<const OptimizerRow> optimizers();
// Nothing where no row has the name.
const OptimizerRow* find_optimizer(std::string_view name);
// The row of whose words all are in the text, whatever stands between them, and most letters:
// "timm default (sgd momentum)" says momentum. Nothing where no row is.
const OptimizerRow* spoken_optimizer(std::string_view text);

// The rule that takes the parameter. Decisions about its size are the decider's.
const UpdateRule& rule_of(const OptimizerRow& row, const TensorType& parameter, Decider& decider);

}  // namespace plimsoll
