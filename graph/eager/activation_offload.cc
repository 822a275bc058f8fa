#include "graph/eager/activation_stash.h"

#include <algorithm>
#include <utility>

#include "graph/eager/machine.h"

namespace plimsoll::eager {
namespace {

constexpr int64_t kSmallest = 1024;  // bytes: min_offload_size
constexpr int64_t kStash = 5;        // tensors: max_fwd_stash_size

}  // namespace

bool Machine::is_made(const Value& value) const {
  if (!value.on_device() || value.storage()->id() == kNoBuffer) return false;
  const Buffer& buffer = step_.buffers[value.storage()->id()];
  return !buffer.resident && buffer.role != Role::kParameter;
}

bool ActivationStash::goes(const Value& value) {
  if (!m_.is_made(value)) return false;
  const BufferId storage = value.storage()->id();
  const bool again = stays_.contains(storage) || std::ranges::any_of(leaving_, [&](const auto& l) {
                       return l.original == storage;
                     });
  if (again) stays_.insert(storage);
  return !again && !m_.decider().less(value.bytes(), kSmallest);
}

void ActivationStash::send(GradNode& node) {
  for (size_t i = 0; i < node.kept.size(); ++i) {
    Value& value = node.kept[i].value;
    if (!value.defined()) continue;
    ++number_;
    if (!goes(value)) continue;
    while (!leaving_.empty() && leaving_.front().number <= number_ - kStash) {
      m_.await(leaving_.front().copy);
      leaving_.pop_front();
    }
    const Dim bytes = value.bytes();
    Value here = value.detached();
    if (!value.contiguous()) {  // is copied from such
      here = m_.allocate(value.dtype(), value.sizes());
      m_.launch_rows(KernelClass::kCopy, "copy", 0, {&value}, {&here});
    }
    const uint32_t copy =
        m_.issue({.kind = CollectiveKind::kToHost, .bytes = bytes, .stays = true});
    leaving_.push_back({number_, value.storage()->id(), std::move(here), copy});
    gone_.push_back({.number = number_, .bytes = bytes});
    node.away.push_back({i, number_});
    value = value.with_storage(nullptr);
  }
}

// Undefined where it is not.
Value ActivationStash::still_here(int64_t number) const {
  const auto at = std::ranges::find(leaving_, number, &Leaving::number);
  return at == leaving_.end() ? Value{} : at->value;
}

void ActivationStash::begin(Gone& gone) {
  if (std::exchange(gone.comes, true)) return;
  gone.copy = m_.issue({.kind = CollectiveKind::kFromHost, .bytes = gone.bytes, .stays = true});
}

// The host runs ahead of the device: while a node runs, the copy for the one behind it goes on.
StorageRef ActivationStash::came(int64_t number, const Value& kept) {
  const auto at = std::ranges::find(gone_, number, &Gone::number);
  Value value = still_here(number);
  if (!value.defined()) {
    value = m_.allocate_in(Stream::kHost, kept.dtype(), kept.sizes());
    begin(*at);
    m_.await(at->copy);
    now_.push_back(value);
  }
  gone_.erase(at);
  if (!gone_.empty() && !still_here(gone_.back().number).defined()) begin(gone_.back());
  return value.storage();
}

void ActivationStash::bring(GradNode& node) {
  brought_ = brought_ || !node.away.empty();
  for (const auto [place, number] : std::exchange(node.away, {})) {
    Value& kept = node.kept[place].value;
    kept = kept.with_storage(came(number, kept));
  }
}

void ActivationStash::has_run() {
  if (!std::exchange(brought_, false)) return;
  for (const Leaving& one : std::exchange(leaving_, {})) m_.await(one.copy);
  stays_.clear();
  // What others hold by now, such as a block that has run again, is only theirs.
  std::erase_if(now_, [](const Value& value) { return value.storage().use_count() > 1; });
  last_ = std::exchange(now_, {});
}

void ActivationStash::end_backward() {
  now_.clear();
  last_.clear();
}

void ActivationStash::end() {
  end_backward();
  for (const Leaving& one : std::exchange(leaving_, {})) m_.await(one.copy);
  for (const Gone& one : std::exchange(gone_, {})) {
    if (one.comes) m_.await(one.copy);
  }
}

}  // namespace plimsoll::eager
