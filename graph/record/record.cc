#include "graph/record/record.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <utility>

#include "graph/base/try.h"
#include "graph/json/object.h"
#include "graph/json/reader.h"
#include "graph/record/recorded_lists.h"
#include "graph/record/recorded_names.h"
#include "graph/record/recorded_operators.h"
#include "graph/record/recorded_rows.h"
#include "graph/record/recorded_sizes.h"
#include "graph/record/recorded_streams.h"
#include "graph/record/recorded_world.h"

namespace plimsoll {
namespace {

// From 2 on a record may be of one of several ranks, from 3 on say its settings, from 4 on send,
// from 5 on say what the first step takes before its first kernel.
constexpr int64_t kVersion = 5;

class Reader : RecordedRows {
 public:
  Reader(JsonObject& file, const Limits& limits) : RecordedRows(file), limits_(limits) {}

  Record read(int64_t version) {
    head();
    if (version >= 3) settings();
    if (version == 2 || (version >= 3 && file_.has("world"))) collectives();
    tensors();
    nodes();
    calls();
    storages();
    if (version >= 5) at_first();
    events();
    saved();
    return std::move(record_);
  }

 private:
  void head() {
    record_.name = file_.required_string("name");
    record_.torch = file_.required_string("torch");
    const auto capability = file_.required_integers("capability", {.low = 0, .high = 99});
    if (capability.size() == 2)
      record_.capability = static_cast<int>(10 * capability[0] + capability[1]);
    const auto tf32 = file_.required_list("tf32");
    if (tf32.size() == 2) {
      use_.tf32_products = file_.boolean_in(tf32[0], "tf32").value_or(false);
      use_.tf32_convolutions = file_.boolean_in(tf32[1], "tf32").value_or(false);
    }
    record_.symbols = binding("symbols");
    record_.multiples = binding("multiples");
    for (const auto& [name, size] : record_.multiples) {
      if (!record_.symbols.contains(name))
        file_.fail("E281", fmt::format("multiples of a dimension that is not there"));
    }
    const JsonValue* const fixed = file_.required("fixed");
    if (fixed != nullptr && !fixed->is_null()) {
      record_.only_because = file_.text_in(*fixed, "fixed").value_or("");
      record_.only = record_.symbols;
    }
    record_.stated = file_.required_strings("stated");
    std::vector<std::string> varied;  // a record of one size has polynomials of none
    if (record_.only.empty())
      for (const auto& member : order_) varied.push_back(member);
    sizes_.emplace(file_, varied);
    modules_ = file_.required_strings("modules");
    record_.graph.name = record_.name;
    record_.graph.producer = "pytorch " + record_.torch;
    record_.graph.defaults = record_.symbols;
  }

  void settings() {
    JsonObject object = file_.required_object("settings");
    for (const JsonMember& member : object.members())
      record_.settings[member.key] = object.required_strings(member.key);
  }

  // Names in the file's order, in which polynomials have their powers.
  Binding binding(std::string_view key) {
    Binding sizes;
    JsonObject object = file_.required_object(key);
    for (const JsonMember& member : object.members()) {
      const int64_t size = object.required_integer(member.key, {.low = 1, .high = limits_.dim});
      sizes[member.key] = size;
      if (key == "symbols") order_.push_back(member.key);
    }
    return sizes;
  }

  void tensors() {
    for (const JsonValue& value : file_.required_list("types")) {
      const JsonValue::List* const parts = file_.list_in(value, "types");
      types_.emplace_back();
      if (parts == nullptr || parts->size() != 3) {
        if (parts != nullptr)
          file_.fail("E281", "a type has an element, a shape and an order", value);
        continue;
      }
      types_.back().type.dtype =
          named((*parts)[0], "types", kRecordedTypes).value_or(DType::kFloat32);
      if (const JsonValue::List* const shape = file_.list_in((*parts)[1], "types")) {
        for (const JsonValue& extent : *shape)
          types_.back().type.shape.push_back(sizes_->at(file_, extent));
      }
      const std::string order = file_.text_in((*parts)[2], "types").value_or("");
      types_.back().order = order == "last"     ? MemoryOrder::kChannelsLast
                            : order == "turned" ? MemoryOrder::kTransposed
                                                : MemoryOrder::kRows;
    }
    read_tensors("parameters", TensorKind::kParameter, 3);
    read_tensors("inputs", TensorKind::kInput, 2);
  }

  // [name, type] each, and whether it is trained.
  void read_tensors(std::string_view key, TensorKind kind, size_t parts_wanted) {
    for (const JsonValue& value : file_.required_list(key)) {
      const JsonValue::List* const parts = row(value, key, parts_wanted);
      if (parts == nullptr) continue;
      const auto type = index((*parts)[1], key, types_.size());
      if (!type) continue;
      Tensor tensor;
      tensor.name = file_.text_in((*parts)[0], key).value_or("");
      tensor.kind = kind;
      tensor.dtype = types_[*type].type.dtype;
      tensor.shape = types_[*type].type.shape;
      if (kind == TensorKind::kParameter) {
        tensor.weight = true;
        tensor.frozen = !file_.boolean_in((*parts)[2], key).value_or(true);
      }
      const TensorId id = record_.graph.add_tensor(std::move(tensor));
      if (kind == TensorKind::kInput) record_.graph.inputs.push_back(id);
    }
  }

  void nodes() {
    for (const JsonValue& value : file_.required_list("nodes")) {
      const JsonValue::List* const parts = row(value, "nodes", 2);
      const auto module = parts ? index((*parts)[0], "nodes", modules_.size()) : std::nullopt;
      Node node;
      node.domain = "aten";
      if (module) node.op = file_.text_in((*parts)[1], "nodes").value_or("");
      if (module) node.module = modules_[*module];
      node.name = node.module.empty() ? node.op : node.module + "/" + node.op;
      record_.graph.nodes.push_back(std::move(node));
    }
  }

  void calls() {
    for (const JsonValue& value : file_.required_list("calls")) {
      JsonObject object(value, file_.file(), file_.faults());
      RecordedCall call;
      call.op = object.required_string("operator");
      call.reads = types_named(object, "reads");
      call.writes = types_named(object, "writes");
      JsonObject facts = object.required_object("facts");
      for (const JsonMember& member : facts.members()) call.facts[member.key] = fact(facts, member);
      facts.finish();
      object.finish();
      calls_.push_back(std::move(call));
    }
    launches_.resize(calls_.size() * kRecordedPhases.size());
  }

  // [what, group, bytes] each, and storages that wait for the device before they are free.
  void collectives() {
    const RecordedWorld world = read_recorded_world(file_);
    record_.mesh = world.mesh;
    for (const JsonValue& value : file_.required_list("collectives")) {
      const JsonValue::List* const parts = row(value, "collectives", 3);
      const auto group =
          parts ? index((*parts)[1], "collectives", world.groups.size()) : std::nullopt;
      collectives_.emplace_back();
      if (!group) continue;
      const auto kind = named((*parts)[0], "collectives", kRecordedCollectives);
      const Dim bytes = sizes_->at(file_, (*parts)[2]);
      for (const Axis axis : world.groups[*group]) {
        collectives_.back().places.push_back(record_.step.collectives.size());
        record_.step.collectives.push_back(
            {.kind = kind.value_or(CollectiveKind::kAllReduce), .axis = axis, .bytes = bytes});
      }
    }
    late_ = file_.required_list("late");
  }

  std::vector<const RecordedTensor*> types_named(JsonObject& call, std::string_view key) {
    std::vector<const RecordedTensor*> found;
    for (const JsonValue& value : call.required_list(key)) {
      if (const auto at = index(value, key, types_.size())) found.push_back(&types_[*at]);
    }
    return found;
  }

  std::vector<Dim> fact(JsonObject& facts, const JsonMember& member) {
    const JsonValue& value = *facts.required(member.key);
    const auto one = [&](const JsonValue& v) -> Dim {
      if (const auto truth = v.boolean()) return *truth ? 1 : 0;
      // An axis from the end; of others no sign is priced.
      if (const int64_t n = v.integer().value_or(0); n < 0) return member.key == "dim" ? n : 0;
      return sizes_->at(file_, v);
    };
    std::vector<Dim> found;
    if (const JsonValue::List* const list = value.list()) {
      for (const JsonValue& v : *list) found.push_back(one(v));
    } else {
      found.push_back(one(value));
    }
    return found;
  }

  // [bytes, role, resident, stream] each.
  void storages() {
    for (const JsonValue& value : file_.required_list("storages")) {
      Buffer buffer;
      if (const JsonValue::List* const parts = row(value, "storages", 4)) {
        buffer.bytes = sizes_->at(file_, (*parts)[0]);
        buffer.role = named((*parts)[1], "storages", kRecordedRoles).value_or(Role::kTemporary);
        buffer.resident = file_.boolean_in((*parts)[2], "storages").value_or(false);
        buffer.stream = stream_at((*parts)[3], "storages");
      }
      becomes_gradient_.push_back(buffer.role == Role::kGradient && !buffer.resident);
      if (becomes_gradient_.back()) buffer.role = Role::kTemporary;
      record_.step.buffers.push_back(std::move(buffer));
    }
    for (const JsonValue& value : late_) {
      if (const auto at = index(value, "late", record_.step.buffers.size()))
        record_.step.buffers[*at].late = true;
    }
  }

  // [bytes, stream] each.
  void at_first() {
    for (const JsonValue& value : file_.required_list("at_first")) {
      if (const JsonValue::List* const parts = row(value, "at_first", 2))
        record_.step.at_first.push_back({.bytes = sizes_->at(file_, (*parts)[0]),
                                         .stream = stream_at((*parts)[1], "at_first")});
    }
  }

  // [what happens, to whom, phase, node] each: "+" and "-" a storage, "!" a call, "i" and "w" a
  // collective, which begins and is waited for.
  void events() {
    enum class State : uint8_t { kBefore, kAlive, kGone };
    std::vector<State> state(record_.step.buffers.size(), State::kBefore);
    const auto end_of_forward = file_.required_integer("end_of_forward", {.low = 0});
    size_t number = 0;
    const auto list = file_.required_list("events");
    for (const JsonValue& value : list) {
      if (number++ == static_cast<size_t>(end_of_forward))
        record_.step.end_of_forward = record_.step.events.size();
      const JsonValue::List* const parts = row(value, "events", 4);
      if (parts == nullptr) continue;
      const std::string kind = file_.text_in((*parts)[0], "events").value_or("");
      const Phase phase = named((*parts)[2], "events", kRecordedPhases).value_or(Phase::kForward);
      const NodeId node = node_at((*parts)[3]);
      if (kind == "!") {
        if (const auto call = index((*parts)[1], "events", calls_.size()))
          launch(*call, phase, node);
        continue;
      }
      if (kind == "i" || kind == "w") {
        exchange(value, *parts, kind == "i", phase);
        continue;
      }
      const auto at = index((*parts)[1], "events", state.size());
      if (!at) continue;
      const bool born = kind == "+";
      const State wanted = born ? State::kBefore : State::kAlive;
      if ((!born && kind != "-") || state[*at] != wanted || record_.step.buffers[*at].resident) {
        file_.fail("E281", "a storage is allocated and freed once, and the resident ones never",
                   value);
        continue;
      }
      state[*at] = born ? State::kAlive : State::kGone;
      write(born ? Event::Kind::kAllocate : Event::Kind::kFree, phase, *at, node);
      if (born) record_.step.buffers[*at].node = node;
      if (born && becomes_gradient_[*at]) write(Event::Kind::kBecomeGradient, phase, *at, node);
    }
    if (static_cast<size_t>(end_of_forward) >= number)
      record_.step.end_of_forward = record_.step.events.size();
    for (size_t i = 0; i < state.size(); ++i) {
      const bool whole = record_.step.buffers[i].resident || state[i] == State::kGone;
      if (!whole)
        return file_.fail("E281", fmt::format("storage {} is not allocated and freed", i));
    }
    for (size_t i = 0; i < collectives_.size(); ++i) {
      if (!collectives_[i].awaited)
        return file_.fail("E281", fmt::format("collective {} is not begun and waited for", i));
    }
  }

  void exchange(const JsonValue& value, const JsonValue::List& parts, bool begins, Phase phase) {
    const auto at = index(parts[1], "events", collectives_.size());
    const NodeId node = node_at(parts[3]);
    if (!at) return;
    Exchange& exchange = collectives_[*at];
    if (exchange.begun != !begins || exchange.awaited)
      return file_.fail("E281", "a collective begins once, and is waited for once", value);
    (begins ? exchange.begun : exchange.awaited) = true;
    for (const size_t place : exchange.places)
      write(begins ? Event::Kind::kIssue : Event::Kind::kAwait, phase, place, node);
  }

  void write(Event::Kind kind, Phase phase, size_t id, NodeId node) {
    record_.step.events.push_back(
        {.kind = kind, .phase = phase, .id = static_cast<uint32_t>(id), .node = node});
  }

  // The call's kernels are worked out once for each phase that it is made in.
  void launch(size_t call, Phase phase, NodeId node) {
    auto& ids = launches_[call * kRecordedPhases.size() + static_cast<size_t>(phase)];
    if (!ids) {
      ids.emplace();
      const int64_t launches = launches_of(calls_[call]);
      for (const Kernel& kernel : kernels_of(calls_[call], phase, use_)) {
        const auto add = [&](Kernel part, int64_t times) {
          ids->insert(ids->end(), static_cast<size_t>(times), record_.step.kernels.size());
          record_.step.kernels.push_back(std::move(part));
        };
        add(launches == 1 ? kernel : share_of(kernel, launches, true), 1);
        if (launches > 1) add(share_of(kernel, launches, false), launches - 1);
      }
    }
    // Each is dispatched, so the host's rate was learned (graph/eager), but those of one list.
    const bool lists = launches_of(calls_[call]) > 1;
    for (size_t i = 0; i < ids->size(); ++i) {
      write(Event::Kind::kLaunch, phase, (*ids)[i], node);
      if (lists && i > 0) record_.step.events.back().dispatched = false;
    }
  }

  void saved() {
    std::vector<char> seen(record_.step.buffers.size(), 0);
    for (const JsonValue& value : file_.required_list("saved")) {
      const JsonValue::List* const parts = row(value, "saved", 2);
      const auto at = parts ? index((*parts)[0], "saved", seen.size()) : std::nullopt;
      if (!at || std::exchange(seen[*at], 1) != 0) continue;
      record_.step.saved.push_back({.buffer = static_cast<BufferId>(*at),
                                    .node = node_at((*parts)[1]),
                                    .rule = "autograd keeps it"});
    }
    for (const Tensor& tensor : record_.graph.tensors)
      record_.step.parameter_arrays += tensor.kind == TensorKind::kParameter ? 1 : 0;
  }

  NodeId node_at(const JsonValue& value) {
    const auto known = static_cast<int64_t>(record_.graph.nodes.size());
    const int64_t at = file_.integer_in(value, "node", {.low = -1, .high = known - 1}).value_or(-1);
    return at < 0 ? kNoNode : static_cast<NodeId>(at);
  }

  Stream stream_at(const JsonValue& value, std::string_view key) {
    const int64_t number = file_.integer_in(value, key, {.low = 0}).value_or(0);
    const std::optional<Stream> stream = streams_.at(number);
    if (!stream) file_.fail("E281", fmt::format("{} has more streams than a GPU", key), value);
    return stream.value_or(Stream::kCompute);
  }

  // A collective of the file: where it is in the step, along each axis of its group.
  struct Exchange {
    std::vector<size_t> places;
    bool begun = false, awaited = false;
  };

  const Limits& limits_;
  Record record_;
  std::vector<Exchange> collectives_;
  std::span<const JsonValue> late_;
  TensorCoreUse use_;
  std::vector<std::string> order_, modules_;
  std::optional<RecordedSizes> sizes_;
  std::vector<RecordedTensor> types_;
  std::vector<RecordedCall> calls_;
  std::vector<char> becomes_gradient_;
  RecordedStreams streams_;
  std::vector<std::optional<std::vector<size_t>>> launches_;  // by call and phase
};

}  // namespace

Result<Record> read_record(std::string_view text, std::string_view file, const Limits& limits) {
  auto value = TRY(read_json(text, file, limits));
  Diagnostics faults;
  JsonObject object(value, file, faults, true);
  const int64_t version = object.schema("plimsoll.record", kVersion);
  if (has_error(faults)) return tl::make_unexpected(std::move(faults));
  Record record = Reader(object, limits).read(version);
  object.finish();
  if (has_error(faults)) return tl::make_unexpected(std::move(faults));
  return record;
}

}  // namespace plimsoll
