// Eager code pads both sides of an image alike, or pads it first. Exporters merge the two: a
// convolution with uneven padding, or one that says so, had a padded copy as its input, and kept
// it.
#include <algorithm>
#include <array>
#include <map>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

struct Padding {
  std::vector<int64_t> begin, end;  // per spatial axis
  bool even() const { return begin == end; }
};

std::vector<int64_t> per_axis(const Node& conv, const char* name, size_t spatial) {
  auto values = conv.attributes.integers(name);
  values.resize(spatial, 1);
  return values;
}

bool strides_are_one(const Node& conv, size_t spatial) {
  const auto strides = per_axis(conv, "strides", spatial);
  return std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 1; });
}

// The convolution's whole padding. "Same" padding is followed where it does not depend on the
// image: at stride 1, the only one that PyTorch allows there (ATen/native/Convolution.cpp).
std::optional<Padding> padding_of(const Rewrite& r, const Node& conv, size_t spatial) {
  Padding padding;
  const std::string automatic = conv.attributes.string("auto_pad", "NOTSET");
  if (automatic.starts_with("SAME")) {
    const auto dilations = per_axis(conv, "dilations", spatial);
    for (size_t i = 0; i < spatial; ++i) {
      const auto taps = r.extent(conv.inputs[1], 2 + i);
      if (!taps || !strides_are_one(conv, spatial)) return std::nullopt;
      const int64_t total = (*taps - 1) * dilations[i];
      padding.begin.push_back(total / 2);
      padding.end.push_back(total - total / 2);
    }
    return padding;
  }
  const auto pads = conv.attributes.integers("pads");
  if (pads.size() != 2 * spatial) return std::nullopt;
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(spatial);
  padding.begin.assign(pads.begin(), middle);
  padding.end.assign(middle, pads.end());
  return padding;
}

// What the convolution itself pads: nothing where the padding was merged or a strided layer's
// (TensorFlow's "same", which takes a Pad); else the even part ("same" at stride 1).
std::vector<int64_t> own_padding(const Node& conv, const Padding& all, size_t spatial) {
  std::vector<int64_t> own(spatial, 0);
  if (conv.notes.pad_merged || !strides_are_one(conv, spatial)) return own;
  for (size_t i = 0; i < spatial; ++i) own[i] = std::min(all.begin[i], all.end[i]);
  return own;
}

TensorId insert_pad(Rewrite& r, NodeId id, const Padding& all, const std::vector<int64_t>& own) {
  const TensorId x = r.node(id).inputs[0];
  Shape padded = *r.tensor(x).shape;
  for (size_t i = 0; i < own.size(); ++i)
    padded[2 + i] = padded[2 + i] + Dim(all.begin[i] + all.end[i] - 2 * own[i]);
  return r.insert_before(id, r.beside(id, "", "Pad", {x}), r.tensor(x).dtype, std::move(padded));
}

// What was padded with what, for convolutions into which the exporter merged a Pad: one that
// several convolutions read was merged into each.
using Padded = std::map<std::pair<TensorId, std::vector<int64_t>>, TensorId>;

// A Pad that is still there, for others who read it, is the one that was merged.
void note_pad(const Rewrite& r, const Node& node, Padded& padded) {
  const size_t rank = r.rank(node.inputs[0]);
  const auto& contents = node.inputs.size() > 1 ? r.tensor(node.inputs[1]).contents : nullptr;
  if (rank < 3 || !contents || contents->integers.size() != 2 * rank) return;
  if (node.attributes.string("mode", "constant") != "constant") return;
  const std::vector<int64_t>& all = contents->integers;
  std::vector<int64_t> amounts;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool spatial = i % rank >= 2;
    if (!spatial && all[i] != 0) return;
    if (spatial) amounts.push_back(all[i]);
  }
  padded.try_emplace({node.inputs[0], std::move(amounts)}, node.outputs[0]);
}

void pad_first(Finder& f, NodeId id, const Padding& all, const std::vector<int64_t>& own,
               Padded& padded) {
  Rewrite& r = f.r;
  const TensorId x = r.node(id).inputs[0];
  std::vector<int64_t> amounts = all.begin;
  amounts.insert(amounts.end(), all.end.begin(), all.end.end());
  const bool merged = r.node(id).notes.pad_merged;
  const auto known = padded.find({x, amounts});
  const TensorId copy =
      merged && known != padded.end() ? known->second : insert_pad(r, id, all, own);
  if (merged) padded[{x, amounts}] = copy;
  r.read_instead(id, x, copy);
  Attributes& attributes = r.graph().nodes[id].attributes;
  std::vector<int64_t> both = own;
  both.insert(both.end(), own.begin(), own.end());
  attributes.set("pads", std::move(both));
  attributes.set("auto_pad", std::string("NOTSET"));
  f.note("padding merged into a convolution", r.producer(copy), r.removed_count());
}

constinit const Fragment kPad("y = Pad(x)"), kConv("y = Conv(x)");

}  // namespace

void padding(Finder& f) {
  Rewrite& r = f.r;
  if (r.graph().exporter != Exporter::kPyTorch) return;
  const size_t nodes = r.nodes();
  Padded padded;
  for (NodeId id = 0; id < nodes; ++id) {
    if (r.is_removed(id)) continue;
    const Node& conv = r.node(id);
    if (kPad.at(r, id)) note_pad(r, conv, padded);
    if (!kConv.at(r, id) || r.rank(conv.inputs[0]) < 3) continue;
    const size_t spatial = r.rank(conv.inputs[0]) - 2;
    const auto all = padding_of(r, conv, spatial);
    if (!all || (all->even() && !conv.notes.pad_merged)) continue;
    pad_first(f, id, *all, own_padding(conv, *all, spatial), padded);
  }
}

}  // namespace plimsoll::patterns
