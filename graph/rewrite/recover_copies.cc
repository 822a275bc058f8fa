// Copies that leave no node. x.transpose(1, 2).contiguous(): the exporter writes the transposition
// alone, its source line says the rest. Of x.contiguous() alone nothing is left; modules that
// always do it are a table.
#include <algorithm>
#include <array>
#include <utility>

#include "graph/ir/module_path.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// The copy is part of the line that transposes: it runs next.
void copy_transposed(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& flip = r.node(id);
  const TensorId value = flip.outputs[0];
  if (!r.tensor(value).shape) return;
  Node copy{.op = "Contiguous",
            .domain = "plimsoll",
            .name = flip.name,
            .module = flip.module,
            .attributes = {},
            .inputs = {value},
            .outputs = {}};
  copy.notes.calls = flip.notes.calls;
  copy.notes.statements = flip.notes.statements;
  const std::vector<NodeId> readers = r.readers(value);
  const DType dtype = r.tensor(value).dtype;
  Shape shape = *r.tensor(value).shape;
  const TensorId copied =
      r.insert_before(r.right_after(value), std::move(copy), dtype, std::move(shape));
  for (const NodeId reader : readers) r.read_instead(reader, value, copied);
  f.note("transposed values made contiguous", r.producer(copied), r.deaths());
}

// Does anything but a copy that another pattern has made read it?
bool is_read_as_it_lies(const Rewrite& r, TensorId value) {
  const std::vector<NodeId>& readers = r.readers(value);
  return std::any_of(readers.begin(), readers.end(),
                     [&](NodeId reader) { return r.node(reader).op != "Contiguous"; });
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

void give_copy(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const std::string_view name = last_part(r.node(id).module);
  const auto row = std::find_if(kGivenCopies.begin(), kGivenCopies.end(),
                                [&](const GivenCopy& one) { return one.module == name; });
  if (row == kGivenCopies.end() || r.node(id).op != "Conv") return;
  const TensorId value = r.node(id).inputs[0];
  if (!r.tensor(value).shape) return;
  Node copy{.op = "Contiguous",
            .domain = "plimsoll",
            .name = r.node(id).name,
            .module = r.node(id).module,
            .attributes = {},
            .inputs = {value},
            .outputs = {}};
  copy.attributes.set("training", int64_t{row->training_alone});
  const DType dtype = r.tensor(value).dtype;
  Shape shape = *r.tensor(value).shape;
  const TensorId copied = r.insert_before(id, std::move(copy), dtype, std::move(shape));
  r.read_at(id, 0, copied);
  f.note("inputs made contiguous", r.producer(copied), r.deaths());
}

}  // namespace

void copies(Finder& f) {
  const bool by_pytorch = f.r.graph().producer.starts_with("pytorch");
  const size_t nodes = f.r.nodes();
  for (NodeId id = 0; id < nodes; ++id) {
    if (f.r.dead(id)) continue;
    const Node& node = f.r.node(id);
    if (node.op == "Transpose" && node.notes.contiguous && is_read_as_it_lies(f.r, node.outputs[0]))
      copy_transposed(f, id);
    if (by_pytorch) give_copy(f, id);
  }
}

}  // namespace plimsoll::patterns
