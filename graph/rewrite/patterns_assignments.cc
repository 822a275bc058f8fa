// Assignments to a part of a tensor: x[:, 2:6] = y, x[:, 3] = y, x[:, places] = y. Exporters write
// them as scatters with places made of ranges, the newer one between two transposes.
#include <algorithm>
#include <optional>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

constinit const Fragment kViewed("y = Transpose|Unsqueeze|Identity(x)");
TensorId unviewed(const Rewrite& r, TensorId t) { return kViewed.behind(r, t); }

constinit const Fragment kPartOf("y = Slice|Gather(x)");
constinit const Fragment kAssigned("y = Assign|SliceScatter(x, values)");

// Numbers of the host that are put into such are the host's, unless the file says where they are.
bool is_assignment(const Match& m) {
  const bool of_host = m.r.input_independent(m["x"]) && m.r.input_independent(m["values"]);
  return m.root().attributes.string("reduction", "none") == "none" &&
         (!of_host || m.root().notes.on_device);
}

// What reads x later reads what it was: the assignment is to a clone of it.
bool is_read_later(const Match& m) {
  const TensorId x = unviewed(m.r, m["x"]);
  const auto& readers = m.r.readers(x);
  return m.r.uses(x) > readers.size() ||
         std::any_of(readers.begin(), readers.end(), [&](NodeId id) { return id > m.at; });
}

// Does the array count its places up, as a range does? A long one of unknown contents that the
// module does not have is one that an exporter made.
bool is_range(const Tensor& t) {
  if (!t.contents) return t.origin != Origin::kAuthored;
  const std::vector<int64_t>& at = t.contents->integers;
  const int64_t step = at.size() < 2 ? 1 : at[1] - at[0];
  for (size_t i = 1; i < at.size(); ++i) {
    if (at[i] - at[i - 1] != step) return false;
  }
  return true;
}

constinit const Fragment kPlumbing("y = Unsqueeze|Expand|Reshape|Cast(x)");
constinit const Fragment kPutTogether("y = Concat|Add(x)");

// The array of places that exporters make others of; kNoTensor where ranges alone say them.
TensorId places_of(const Rewrite& r, TensorId at) {
  at = kPlumbing.behind(r, at);
  if (kPutTogether.of(r, at)) {
    for (const TensorId part : r.node(r.producer(at)).inputs) {
      if (const TensorId places = places_of(r, part); places != kNoTensor) return places;
    }
    return kNoTensor;
  }
  if (!r.input_independent(at)) return at;
  const Tensor& t = r.tensor(at);
  const bool array = t.kind == TensorKind::kParameter && !r.is_host_number(at);
  return array && !is_range(t) ? at : kNoTensor;
}

// A part of a part is written to at once, where the newer exporter writes one into the other.
TensorId written(const Rewrite& r, TensorId x, TensorId values) {
  while (const auto inner = kAssigned.of(r, unviewed(r, values))) {
    const TensorId whole = kPartOf.in(r, unviewed(r, (*inner)["x"]), "x");
    if (whole == kNoTensor || unviewed(r, whole) != unviewed(r, x)) break;
    values = (*inner)["values"];
  }
  return values;
}

constinit const Fragment kOneNumber("y = Expand(x)");

// The only number of a folded array.
std::optional<double> number_of(const Tensor& t) {
  if (t.kind != TensorKind::kValue || t.producer != kNoNode || !t.contents) return std::nullopt;
  const auto only = [](const auto& all) -> std::optional<double> {
    if (all.empty() ||
        !std::all_of(all.begin(), all.end(), [&](auto one) { return one == all[0]; }))
      return std::nullopt;
    return static_cast<double>(all[0]);
  };
  const auto real = only(t.contents->reals);
  return real ? real : only(t.contents->integers);
}

// x[:, 2:6] = 1 fills the part: an array of one number that the device does not make is the
// exporter's.
TensorId filled_with(Rewrite& r, TensorId values) {
  const TensorId array = unviewed(r, values);
  if (const auto number = number_of(r.tensor(array))) return r.add_number(*number);
  const TensorId number = kOneNumber.in(r, array, "x");
  const bool of_host = r.is_host_number(number) && !r.node(r.producer(array)).notes.on_device;
  return of_host ? number : values;
}

constinit const Fragment kTransposed("y = Transpose(_)"), kSame("y = Identity(_)");

// x.slice_scatter(y, ...) and x.select_scatter(y, ...) make a tensor of their own. The newer
// exporter writes assignments as them, but its lines say so, and x[:, ...] is one to all rows, too.
bool makes_own(const Match& m) {
  TensorId y = m["y"];
  NodeId reader = m.r.only_reader(y);
  bool in_place = m.root().notes.in_place != 0;
  if (reader != kNoNode && kTransposed.at(m.r, reader)) {
    y = m.r.node(reader).outputs[0];
    in_place = in_place || m.r.node(reader).notes.in_place != 0;
    reader = m.r.only_reader(y);
  }
  const std::string& name = m.r.tensor(y).name;
  const bool scatters = name.starts_with("slice_scatter") || name.starts_with("select_scatter");
  const bool all_rows = reader != kNoNode && kSame.at(m.r, reader);
  // A table that forward() makes has no gradient to cut into parts.
  const bool of_table = in_place && m.r.input_independent(m["x"]);
  return scatters && !of_table && !m.root().notes.writes_part && !all_rows;
}

NodeId assign(Finder& f, const Match& m, TensorId places) {
  const bool cloned = is_read_later(m);
  const bool result = makes_own(m);
  TensorId values = written(f.r, m["x"], m["values"]);
  if (m.root().notes.on_device) values = filled_with(f.r, values);
  Node& node =
      places != kNoTensor
          ? f.r.replace(m.at, "plimsoll", "IndexPut", {m["x"], places, values})
          : f.r.replace(m.at, "plimsoll", result ? "SliceScatter" : "Assign", {m["x"], values});
  if (cloned && node.op != "SliceScatter") node.attributes.set("cloned", int64_t{1});
  return m.at;
}

NodeId assign_slice(Finder& f, const Match& m) { return assign(f, m, places_of(f.r, m["at"])); }
NodeId assign_selected(Finder& f, const Match& m) { return assign(f, m, kNoTensor); }

bool goes_back(const Match& m) {
  return m.root().attributes.integers("perm") == m.node("t").attributes.integers("perm");
}

// The axis is moved to the front and back again for ONNX alone.
NodeId assign_in_place(Finder& f, const Match& m) {
  const Node made = m.node("s");
  std::vector<TensorId> inputs = made.inputs;
  inputs[0] = m["x"];
  f.r.replace(m.at, "plimsoll", made.op, std::move(inputs)).attributes = made.attributes;
  return m.at;
}

constexpr Pattern kAssignmentRows[] = {
    {.name = "assignment to a part",
     .exporter = Exporter::kPyTorch,
     .match = "y = ScatterND(x, at, values)",
     .when = is_assignment,
     .build = assign_slice,
     .example = "input x: f32[8]; input v: f32[2]; const i: i64[2,1] = [0,1];"
                "y = ScatterND(x, i, v)",
     .after = "y = plimsoll:Assign(x, v)",
     .near_miss = "y = ScatterND(x, i, v) {reduction=\"add\"}"},
    {.name = "assignment to selected places",
     .exporter = Exporter::kPyTorch,
     .match = "y = ScatterElements(x, Expand(#), values)",
     .when = is_assignment,
     .build = assign_selected,
     .example = "input x: f32[B,8]; input v: f32[B,1]; const i: i64[] = [3]; n = Shape(v);"
                "e = Expand(i, n); y = ScatterElements(x, e, v) {axis=1}",
     .after = "y = plimsoll:Assign(x, v)",
     .near_miss = "y = ScatterElements(x, e, v) {axis=1, reduction=\"add\"}"},
    {.name = "assignment along another axis",
     .exporter = Exporter::kPyTorch,
     .match = "t = Transpose(x); s = Assign|IndexPut|SliceScatter(t, _); y = Transpose(s!)",
     .when = goes_back,
     .build = assign_in_place,
     .example = "input x: f32[B,8]; input v: f32[B,2]; const i: i64[2,1] = [0,1];"
                "a = Transpose(x) {perm=[1,0]}; b = Transpose(v) {perm=[1,0]};"
                "c = ScatterND(a, i, b); y = Transpose(c) {perm=[1,0]}",
     .after = "b = Transpose(v) {perm=[1,0]}; y = plimsoll:Assign(x, b)",
     .near_miss = "c = ScatterND(a, i, b) {reduction=\"add\"}"},
};

}  // namespace

std::span<const Pattern> assignments() { return kAssignmentRows; }

}  // namespace plimsoll::patterns
