#include "graph/eager/fusion.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>

namespace plimsoll::eager {
namespace {

constexpr size_t kMostMembers = 64;  // torch/_inductor/config.py: max_fusion_size
constexpr size_t kNamedMembers = 4;  // in a fused kernel's name

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int kNone = -1;

// What of an operand's elements one element of a result needs.
enum class Reach : uint8_t {
  kOpaque,      // a call of its own
  kElement,     // the one at its place
  kRow,         // its row's, which lies on the chip
  kStatistics,  // a number of its row, which does not: two passes
  kRowThenSum,  // its row's; then sums over rows, of scale and bias
};

Reach reach_of(const Kernel& kernel) {
  switch (kernel.kernel_class) {
    case KernelClass::kPointwise:
      return Reach::kElement;
    case KernelClass::kCopy:
      return kernel.op.starts_with("concat") ? Reach::kOpaque : Reach::kElement;
    case KernelClass::kReduce:
    case KernelClass::kSoftmax:
      return Reach::kRow;
    case KernelClass::kNorm:
      if (kernel.op == "batch_norm" || kernel.op == "group_norm") return Reach::kStatistics;
      if (kernel.op != "layer_norm" && kernel.op != "rms_norm") return Reach::kOpaque;
      return kernel.pass == Pass::kForward ? Reach::kRow : Reach::kRowThenSum;
    default:
      return Reach::kOpaque;
  }
}

// Bytes of a view, of which what it repeats lies there once.
Dim bytes_of(const Layout& layout) {
  Dim count = 1;
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    if (layout.strides[i] != Dim(0)) count *= layout.sizes[i];
  }
  return bytes(layout.dtype, count);
}

bool same_view(const Layout& a, const Layout& b) {
  return &a == &b || (a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides);
}

// One pass over a launch's elements; a launch has one or two.
struct Part {
  size_t access = 0;
  std::optional<Dim> rows{};  // of a reduction
  bool writes = true;         // the launch's results; its operations are counted there
  int behind = kNone;         // the group whose numbers it needs
};

struct Read {
  BufferId buffer;
  int write;  // which of its contents
  LayoutRef layout;
};

// A kernel to be. `place`: when it can run at the earliest; `first_use`: when another runs that
// needs it.
struct Group {
  Dim space;
  std::optional<Dim> rows;
  size_t scope = 0;
  int64_t place = 0, first_use = kNever;
  std::vector<Part> parts{};
  std::vector<Read> reads{};
};

struct Write {
  BufferId buffer = kNoBuffer;
  int group = kNone;  // none: of a launch that stays
  int64_t place = 0;
  LayoutRef layout;
  bool inside = false, outside = false;  // read by its own group, by others
};

struct Contents {
  int write = kNone;   // the last
  int reader = kNone;  // the group that read it last
};

class Fuser {
 public:
  Fuser(Step& step, const std::vector<Access>& accesses)
      : step_(step), accesses_(accesses), contents_(step.buffers.size()) {}

  void run() {
    size_t next = 0;
    for (size_t i = 0; i < step_.events.size(); ++i) {
      const Event& event = step_.events[i];
      if (begins_scope(i)) ++scope_;
      if (event.kind == Event::Kind::kBecomeGradient) keep(event.id);
      if (next < accesses_.size() && accesses_[next].event == i) take(next++);
    }
    rewrite();
  }

 private:
  // Forward and backward are programs of their own, and so is a pass that stands for many.
  bool begins_scope(size_t event) const {
    if (event > 0 && step_.events[event].phase != step_.events[event - 1].phase) return true;
    return std::ranges::any_of(step_.repeats,
                               [&](const Repeat& r) { return event == r.begin || event == r.end; });
  }

  const Kernel& kernel_of(size_t access) const {
    return step_.kernels[step_.events[accesses_[access].event].id];
  }

  Reach reach_at(size_t access) const {
    const Event& event = step_.events[accesses_[access].event];
    const bool compiled = event.phase == Phase::kForward || event.phase == Phase::kBackward;
    const Kernel& kernel = kernel_of(access);
    const bool rows = std::holds_alternative<RowsProblem<Dim>>(kernel.problem);
    return compiled && event.node != kNoNode && rows ? reach_of(kernel) : Reach::kOpaque;
  }

  void take(size_t access) {
    now_ = static_cast<int64_t>(accesses_[access].event + 1) << 20;
    const Reach reach = reach_at(access);
    if (reach == Reach::kOpaque) return stay(access);
    const auto& problem = std::get<RowsProblem<Dim>>(kernel_of(access).problem);
    const Dim space = problem.rows * problem.columns;
    if (reach == Reach::kElement) {
      join({.access = access}, space);
    } else if (reach == Reach::kStatistics) {
      const int statistics = join({.access = access, .rows = problem.rows, .writes = false}, space);
      join({.access = access, .behind = statistics}, space);
    } else {
      join({.access = access, .rows = problem.rows}, space);
      if (reach == Reach::kRowThenSum)
        join({.access = access, .rows = problem.columns, .writes = false}, space);
    }
  }

  // A launch that no other joins.
  void stay(size_t access) {
    int64_t place = now_;
    for (const Use& use : accesses_[access].read) place = std::max(place, ready(use, kNone) + 1);
    for (const Use& use : accesses_[access].read) read_by(use, kNone, place);
    for (const Use& use : accesses_[access].written) write_by(use, kNone, place);
  }

  // When what a use reads is there, for a member of `group`.
  int64_t ready(const Use& use, int group) const {
    const int write = contents_[use.buffer].write;
    if (write == kNone || (group != kNone && writes_[write].group == group)) return 0;
    const Write& w = writes_[write];
    return w.group == kNone ? w.place : groups_[w.group].place;
  }

  int64_t ready(const Part& part, int group) const {
    int64_t place = part.behind == kNone ? 0 : groups_[part.behind].place;
    for (const Use& use : accesses_[part.access].read) place = std::max(place, ready(use, group));
    return place;
  }

  bool takes(int index, const Part& part, const Dim& space) const {
    if (index == kNone || index == part.behind) return false;
    const Group& group = groups_[index];
    if (group.scope != scope_ || group.parts.size() >= kMostMembers || group.space != space)
      return false;
    if (part.rows && group.rows && *part.rows != *group.rows) return false;
    return std::max(group.place, ready(part, index) + 1) < group.first_use;
  }

  // Makers before readers.
  int host_of(const Part& part, const Dim& space) const {
    const std::vector<Use>& read = accesses_[part.access].read;
    for (const Use& use : read) {
      const int write = contents_[use.buffer].write;
      const int maker = write == kNone ? kNone : writes_[write].group;
      if (takes(maker, part, space)) return maker;
    }
    for (const Use& use : read) {
      if (takes(contents_[use.buffer].reader, part, space)) return contents_[use.buffer].reader;
    }
    return kNone;
  }

  int join(const Part& part, const Dim& space) {
    int index = host_of(part, space);
    if (index == kNone) {
      index = static_cast<int>(groups_.size());
      groups_.push_back({.space = space, .rows = {}, .scope = scope_, .place = now_});
    }
    Group& group = groups_[index];
    group.place = std::max(group.place, ready(part, index) + 1);
    if (part.rows) group.rows = part.rows;
    group.parts.push_back(part);
    if (part.behind != kNone) used(part.behind, group.place);
    const Access& access = accesses_[part.access];
    for (const Use& use : access.read) read_by(use, index, group.place);
    if (!part.writes) return index;
    for (const Use& use : access.written) write_by(use, index, group.place);
    return index;
  }

  void used(int group, int64_t place) {
    groups_[group].first_use = std::min(groups_[group].first_use, place);
  }

  void read_by(const Use& use, int group, int64_t place) {
    Contents& contents = contents_[use.buffer];
    if (contents.write != kNone) {
      Write& write = writes_[contents.write];
      if (group != kNone && write.group == group) {
        write.inside = true;
        return;
      }
      write.outside = true;
      if (write.group != kNone) used(write.group, place);
    }
    if (group == kNone) return;
    contents.reader = group;
    auto& reads = groups_[group].reads;
    const bool known = std::ranges::any_of(reads, [&](const Read& r) {
      return r.buffer == use.buffer && r.write == contents.write &&
             same_view(*r.layout, *use.layout);
    });
    if (!known) reads.push_back({use.buffer, contents.write, use.layout});
  }

  void write_by(const Use& use, int group, int64_t place) {
    contents_[use.buffer] = {static_cast<int>(writes_.size()), kNone};
    writes_.push_back({.buffer = use.buffer,
                       .group = group,
                       .place = place,
                       .layout = use.layout,
                       .outside = step_.buffers[use.buffer].resident});
  }

  void keep(BufferId buffer) {
    if (contents_[buffer].write != kNone) writes_[contents_[buffer].write].outside = true;
  }

  // The launches of which no part has company stay what they are.
  std::vector<char> launches_that_stay() const {
    std::vector<char> alone(accesses_.size(), 1);
    for (const Group& group : groups_) {
      if (group.parts.size() == 1) continue;
      for (const Part& part : group.parts) alone[part.access] = 0;
    }
    return alone;
  }

  std::string name_of(const Group& group) const {
    std::vector<std::string> names;
    for (const Part& part : group.parts) {
      const std::string& op = kernel_of(part.access).op;
      if (std::ranges::find(names, op) == names.end()) names.push_back(op);
    }
    std::string name = "fused";
    for (size_t i = 0; i < std::min(names.size(), kNamedMembers); ++i) name += "_" + names[i];
    return name;
  }

  Kernel kernel_of(const Group& group, const Dim& written) const {
    const Kernel& first = kernel_of(group.parts.front().access);
    Kernel kernel{.kernel_class = KernelClass::kPointwise,
                  .pass = first.pass,
                  .dtype = kernel_of(group.parts.back().access).dtype,
                  .op = name_of(group)};
    for (const Part& part : group.parts) {
      if (part.writes) kernel.flop += kernel_of(part.access).flop;
    }
    for (const Read& read : group.reads) kernel.read += bytes_of(*read.layout);
    kernel.written = written;
    const Dim rows = group.rows.value_or(Dim(1));
    kernel.problem = RowsProblem<Dim>{rows, floor_div(group.space, rows)};
    return kernel;
  }

  // What each group hands to others, or to nobody that is seen here.
  std::vector<Dim> written_by_group() const {
    std::vector<Dim> written(groups_.size(), Dim(0));
    for (const Write& write : writes_) {
      if (write.group != kNone && (write.outside || !write.inside))
        written[write.group] += bytes_of(*write.layout);
    }
    return written;
  }

  KernelId add(Kernel kernel) {
    const size_t hash = hash_of(kernel);
    const auto [first, last] = numbers_.equal_range(hash);
    for (auto it = first; it != last; ++it) {
      if (kernels_[it->second] == kernel) return it->second;
    }
    const auto id = static_cast<KernelId>(kernels_.size());
    numbers_.emplace(hash, id);
    kernels_.push_back(std::move(kernel));
    return id;
  }

  // A fused kernel stands where its last member did.
  void rewrite() {
    const std::vector<char> stays = launches_that_stay();
    const std::vector<Dim> written = written_by_group();
    std::vector<std::vector<Kernel>> fused(accesses_.size());
    for (size_t g = 0; g < groups_.size(); ++g) {
      size_t last = 0;
      for (const Part& part : groups_[g].parts) last = std::max(last, part.access);
      if (!stays[groups_[g].parts.front().access])
        fused[last].push_back(kernel_of(groups_[g], written[g]));
    }
    std::vector<Event> events;
    std::vector<size_t> places(step_.events.size() + 1);
    Fusion said;
    EventTimes times(step_);
    size_t next = 0;
    for (size_t i = 0; i < step_.events.size(); ++i) {
      places[i] = events.size();
      Event event = step_.events[i];
      const bool launch = event.kind == Event::Kind::kLaunch;
      const int64_t runs = launch ? times(i) : 0;
      const bool known = next < accesses_.size() && accesses_[next].event == i;
      const bool passes = event.phase != Phase::kUpdate;
      if (launch && passes) said.eager_launches += runs;
      if (known && !stays[next]) {
        const Kernel& eager = step_.kernels[event.id];
        said.spared += Dim(runs) * (eager.read + eager.written);
        for (const Kernel& kernel : fused[next]) {
          said.spared -= Dim(runs) * (kernel.read + kernel.written);
          event.id = add(kernel);
          event.dispatched = true;
          events.push_back(event);
          said.launches += runs;
        }
      } else {
        if (launch) event.id = add(step_.kernels[event.id]);
        if (launch && passes) said.launches += runs;
        events.push_back(event);
      }
      if (known) ++next;
    }
    places.back() = events.size();
    step_.events = std::move(events);
    step_.kernels = std::move(kernels_);
    for (Repeat& repeat : step_.repeats)
      repeat = {places[repeat.begin], places[repeat.end], repeat.times, repeat.apart};
    step_.end_of_forward = places[step_.end_of_forward];
    step_.fusion = std::move(said);
  }

  Step& step_;
  const std::vector<Access>& accesses_;
  std::vector<Contents> contents_;  // by BufferId
  std::vector<Group> groups_;
  std::vector<Write> writes_;
  std::vector<Kernel> kernels_;
  std::unordered_multimap<size_t, KernelId> numbers_;
  size_t scope_ = 0;
  int64_t now_ = 0;
};

}  // namespace

std::vector<Use> uses_of(std::span<const Value* const> values) {
  std::vector<Use> uses;
  for (const Value* v : values) {
    if (v->defined() && v->on_device() && v->storage()->id() != kNoBuffer)
      uses.push_back({v->storage()->id(), v->layout_ref()});
  }
  return uses;
}

void fuse(Step& step, const std::vector<Access>& accesses) { Fuser(step, accesses).run(); }

}  // namespace plimsoll::eager
