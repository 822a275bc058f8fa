// Copies, which the newer exporter calls by their names unless it optimises; else they leave no
// node. x.transpose(1, 2).contiguous(): the exporter writes the transposition
// alone, its source line says the rest. Of x.contiguous() alone nothing is left; modules that
// always do it are a table.
#include <algorithm>
#include <array>

#include "graph/exporter/origin.h"
#include "graph/ir/module_path.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

constinit const Fragment kCopy("c = Contiguous(_)"), kWritten("y = Assign|IndexPut(_)");

// x.contiguous() of what was not when the file was written; fused attention on a card may leave it
// so. (x.clone() has the same name, and copies in any case.) What a reshape copied there may be a
// view here, which is for the reshape to say; where an assignment writes to it, that has its copy.
bool is_made_contiguous_by_name(const Match& m) {
  const std::vector<NodeId>& readers = m.r.readers(m["y"]);
  return is_called_after(m.r.tensor(m["y"]).name, "clone") && !m.root().notes.reshapes &&
         std::none_of(readers.begin(), readers.end(),
                      [&](NodeId reader) { return kWritten.at(m.r, reader).has_value(); });
}
bool is_detached(const Match& m) { return is_called_after(m.r.tensor(m["y"]).name, "detach"); }

// Where anything but a copy that another pattern has made reads it.
bool is_made_contiguous(const Match& m) {
  const std::vector<NodeId>& readers = m.r.readers(m["y"]);
  return m.root().notes.contiguous && m.r.tensor(m["y"]).shape &&
         std::any_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return !kCopy.at(m.r, reader); });
}

// The copy is part of the line that transposes: it runs next.
NodeId copy_transposed(Finder& f, const Match& m) {
  const NodeId copy = f.copy_for_readers(m["y"]);
  NodeNotes& notes = f.r.graph().nodes[copy].notes;
  notes.calls = m.root().notes.calls;
  notes.statements = m.root().notes.statements;
  return copy;
}

// Modules of known libraries that are given a contiguous copy of what is not. Where all is
// contiguous the row changes nothing.
struct GivenCopy {
  std::string_view module;  // its own name
  bool training_alone;
};

constexpr std::array<GivenCopy, 1> kGivenCopies = {{
    {"conv_shortcut", true},  // diffusers/models/resnet.py, ResnetBlock2D.forward()
}};

const GivenCopy* given_copy(const Match& m) {
  const std::string_view name = last_part(m.root().module);
  const auto row = std::find_if(kGivenCopies.begin(), kGivenCopies.end(),
                                [&](const GivenCopy& one) { return one.module == name; });
  return row == kGivenCopies.end() ? nullptr : &*row;
}
bool is_given_copy(const Match& m) { return given_copy(m) && m.r.tensor(m["x"]).shape; }

NodeId give_copy(Finder& f, const Match& m) {
  Rewrite& r = f.r;
  Node copy = r.beside(m.at, "plimsoll", "Contiguous", {m["x"]});
  copy.attributes.set("training", int64_t{given_copy(m)->training_alone});
  const DType dtype = r.tensor(m["x"]).dtype;
  Shape shape = *r.tensor(m["x"]).shape;
  const TensorId copied = r.insert_before(m.at, std::move(copy), dtype, std::move(shape));
  r.read_at(m.at, 0, copied);
  return r.producer(copied);
}

constexpr Pattern kNamedRows[] = {
    {.name = "values made contiguous",
     .exporter = Exporter::kPyTorch,
     .match = "y = Identity(x)",
     .result = "y = plimsoll:Contiguous(x)",
     .when = is_made_contiguous_by_name,
     .example = "input x: f32[B,8]; clone_1 = Identity(x); v = Neg(clone_1)",
     .after = "clone_1 = plimsoll:Contiguous(x); v = Neg(clone_1)",
     .near_miss = "clone_1 = Identity(x) reshapes"},
    {.name = "detach",
     .exporter = Exporter::kPyTorch,
     .match = "y = Identity(x)",
     .result = "y = plimsoll:Detach(x)",
     .when = is_detached,
     .example = "input x: f32[B,8]; detach = Identity(x); v = Neg(detach)",
     .after = "detach = plimsoll:Detach(x); v = Neg(detach)",
     .near_miss = "detach = Neg(x); detached = Identity(x)"},
};

constexpr Pattern kCopyRows[] = {
    {.name = "transposed values made contiguous",
     .match = "y = Transpose(_)",
     .when = is_made_contiguous,
     .build = copy_transposed,
     .example = "input x: f32[B,4,8]; y = Transpose(x) {perm=[0,2,1]} contiguous; v = Neg(y)",
     .after = "y = Transpose(x) {perm=[0,2,1]} contiguous; \"\" = plimsoll:Contiguous(y);"
              "v = Neg(\"\")",
     .near_miss = "y = Transpose(x) {perm=[0,2,1]}"},
    {.name = "inputs made contiguous",
     .exporter = Exporter::kPyTorch,
     .match = "y = Conv(x)",
     .when = is_given_copy,
     .build = give_copy,
     .example = "input x: f32[B,8,4,4]; param w: f32[8,8,1,1];"
                "y = Conv(x, w) module=\"resnets.0.conv_shortcut\"",
     .after = "\"\" = plimsoll:Contiguous(x) {training=1} module=\"resnets.0.conv_shortcut\";"
              "y = Conv(\"\", w) module=\"resnets.0.conv_shortcut\"",
     .near_miss = "y = Conv(x, w) module=\"resnets.0.conv1\""},
};

}  // namespace

std::span<const Pattern> named_copies() { return kNamedRows; }
std::span<const Pattern> copies() { return kCopyRows; }

}  // namespace plimsoll::patterns
