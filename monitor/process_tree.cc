#include "monitor/process_tree.h"

#include <time.h>

#include <algorithm>

namespace plimsoll::monitor {
namespace {

constexpr double kPssEvery = 1;  // seconds

double own_cpu() {
  timespec spent{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

template <class Work>
double cost_of(Work work) {
  const double before = own_cpu();
  work();
  return own_cpu() - before;
}

void add_told(std::optional<int64_t>& sum, const std::optional<int64_t>& value, int64_t before) {
  if (value) sum = sum.value_or(0) + *value - before;
}

}  // namespace

ProcessTree::ProcessTree(ProcFolder proc, pid_t root, Root state, double look_share)
    : proc_(std::move(proc)), root_(root), look_share_(look_share) {
  const auto reading = proc_.read(root);
  if (!reading || reading->ended) return;
  const bool from_birth = state == Root::kJustStarted;
  add(*reading, from_birth, false);
  next_look_ = -1;
  if (from_birth) return;
  // Children that are there already: their past is not counted either.
  for (std::vector<pid_t> parents = {root}; !parents.empty();) {
    std::vector<pid_t> next;
    for (const ProcessReading& child : new_children(parents)) {
      add(child, false, true);
      next.push_back(child.pid);
    }
    parents = std::move(next);
  }
}

void ProcessTree::add(const ProcessReading& reading, bool from_birth, bool inherits) {
  members_[reading.pid] = {.first = reading,
                           .last = reading,
                           .least_rss = reading.rss,
                           .shared = {},
                           .pss = {},
                           .inherits = inherits,
                           .counts_from_birth = from_birth};
}

// What was found by pid is read: between two looks a pid may have become another process's, whose
// parent is none of these.
std::vector<ProcessReading> ProcessTree::new_children(const std::vector<pid_t>& parents) {
  std::vector<ProcessReading> children;
  for (const pid_t pid : proc_.children(parents)) {
    if (members_.contains(pid)) continue;
    const auto child = proc_.read(pid);
    if (!child || child->ended) continue;
    if (std::ranges::find(parents, child->parent) != parents.end()) children.push_back(*child);
  }
  return children;
}

void ProcessTree::look_for_children(double now) {
  if (now < next_look_) return;
  const double cost = cost_of([&] {
    std::vector<pid_t> parents;
    for (const auto& [pid, member] : members_) parents.push_back(pid);
    while (!parents.empty()) {
      std::vector<pid_t> next;
      for (const ProcessReading& child : new_children(parents)) {
        add(child, true, true);
        next.push_back(child.pid);
      }
      parents = std::move(next);
    }
  });
  next_look_ = now + cost / look_share_;
}

// What a process has done moves to gone_ when it ends; a pid that starts anew is another process.
void ProcessTree::refresh() {
  for (auto at = members_.begin(); at != members_.end();) {
    Member& member = at->second;
    const auto reading = proc_.read(at->first);
    const bool there = reading && reading->started == member.first.started;
    if (there) {  // an ended one still tells its times
      const int64_t high = member.last.rss_high;
      member.last = *reading;
      if (reading->ended) member.last.rss_high = high;
    }
    if (there && !reading->ended) {
      member.least_rss = std::min(member.least_rss, reading->rss);
      ++at;
      continue;
    }
    take_work(member, gone_);
    at = members_.erase(at);
  }
}

void ProcessTree::read_pss(double now) {
  if (now < next_pss_) return;
  const double cost = cost_of([&] {
    for (auto& [pid, member] : members_) {
      member.pss = proc_.pss(pid);
      if (!member.pss) continue;
      member.shared = std::max<int64_t>(0, member.last.rss - *member.pss);
    }
  });
  next_pss_ = now + std::max(kPssEvery, cost / look_share_);
}

int64_t ProcessTree::shared_of(const Member& member) const {
  if (members_.size() < 2) return 0;
  const int64_t shared = member.shared ? *member.shared : member.inherits ? member.least_rss : 0;
  return std::min(shared, member.last.rss);
}

void ProcessTree::take_work(const Member& member, HostReading& into) {
  const ProcessReading none;
  const ProcessReading& before = member.counts_from_birth ? none : member.first;
  const ProcessReading& now = member.last;
  into.cpu_seconds += now.cpu_seconds - before.cpu_seconds;
  into.minor_faults += now.minor_faults - before.minor_faults;
  into.major_faults += now.major_faults - before.major_faults;
  add_told(into.read_bytes, now.read_bytes, before.read_bytes.value_or(0));
  add_told(into.written_bytes, now.written_bytes, before.written_bytes.value_or(0));
}

HostReading ProcessTree::sample(double now) {
  std::map<pid_t, int64_t> high_before;
  for (const auto& [pid, member] : members_) high_before[pid] = member.last.rss_high;
  refresh();
  look_for_children(now);
  read_pss(now);
  HostReading all = gone_;
  all.alive = members_.contains(root_);
  int64_t above = 0;  // by which one process exceeded what it has now
  for (const auto& [pid, member] : members_) {
    const ProcessReading& p = member.last;
    all.members.push_back({pid, p.name, p.rss});
    all.threads += p.threads;
    all.rss += p.rss;
    all.resident += p.rss - shared_of(member);
    all.swap += p.swap;
    add_told(all.pss, member.pss, 0);
    take_work(member, all);
    const auto before = high_before.find(pid);
    if (before != high_before.end() && p.rss_high > before->second)
      above = std::max(above, p.rss_high - p.rss);
  }
  all.resident_high = all.resident + above;
  return all;
}

}  // namespace plimsoll::monitor
