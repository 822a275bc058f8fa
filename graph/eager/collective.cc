// Collectives, and weights that have memory only at times, as the Machine does them.
#include <utility>

#include "graph/eager/machine.h"

namespace plimsoll::eager {

Value Machine::unbound(DType dtype, const Shape& sizes) {
  return {layout_of(dtype, sizes, Role::kParameter), std::make_shared<Storage>(this, kNoBuffer)};
}

void Machine::bind(const Value& weight, const Dim& bytes, Stream stream) {
  const BufferId id = new_buffer(bytes, Role::kParameter, false);
  if (id != kNoBuffer) step_.buffers[id].stream = stream;
  weight.storage()->id_ = id;
}

void Machine::free_late(const Value& value) {
  if (const BufferId id = value.storage()->id(); id != kNoBuffer) step_.buffers[id].late = true;
}

void Machine::unbind(const Value& weight) {
  free_storage(std::exchange(weight.storage()->id_, kNoBuffer));
}

Value Machine::allocate_in(Stream stream, DType dtype, const Shape& sizes) {
  Value value = allocate(dtype, sizes);
  if (const BufferId id = value.storage()->id(); id != kNoBuffer) step_.buffers[id].stream = stream;
  return value;
}

Value Machine::keep_on_host(DType dtype, const Shape& sizes, Role role, bool pinned) {
  Value value = host(dtype, sizes);
  step_.on_host.push_back({.bytes = value.bytes(), .role = role, .pinned = pinned});
  return value;
}

uint32_t Machine::copy_to_host(const Dim& bytes) {
  return issue({.kind = CollectiveKind::kToHost, .bytes = bytes});
}

uint32_t Machine::copy_from_host(const Dim& bytes) {
  return issue({.kind = CollectiveKind::kFromHost, .bytes = bytes});
}

uint32_t Machine::work_on_host(const Dim& bytes) {
  return issue({.kind = CollectiveKind::kOnHost, .bytes = bytes});
}

uint32_t Machine::issue(Collective collective) {
  const auto place = static_cast<uint32_t>(step_.collectives.size());
  if (collective.buffer != kNoBuffer) ++exchanged_[collective.buffer].collectives;
  step_.collectives.push_back(std::move(collective));
  write(Event::Kind::kIssue, place);
  return place;
}

void Machine::await(uint32_t collective) {
  write(Event::Kind::kAwait, collective);
  const auto busy = exchanged_.find(step_.collectives[collective].buffer);
  if (busy == exchanged_.end() || --busy->second.collectives > 0) return;
  const BufferId buffer = busy->first;
  const bool let_go = busy->second.let_go;
  exchanged_.erase(busy);
  if (let_go) free_storage(buffer);
}

}  // namespace plimsoll::eager
