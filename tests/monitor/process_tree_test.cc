#include "monitor/process_tree.h"

#include <doctest/doctest.h>

#include "tests/support/fake_proc.h"
#include "tests/support/samples.h"

using namespace plimsoll::monitor;
using plimsoll::test::FakeProc;
using plimsoll::test::kMebibyte;

namespace {

// Long after whatever was done before: all that is done rarely is due.
constexpr double kLater = 1e6;

}  // namespace

TEST_CASE("a process alone counts for its RSS, and for what it was between two samples") {
  const FakeProc proc;
  proc.put({.pid = 40, .rss_mib = 100, .high_mib = 100, .pss_mib = 60});
  ProcessTree tree(ProcFolder(proc.path()), 40, ProcessTree::Root::kJustStarted);
  const HostReading first = tree.sample(0);
  CHECK(first.alive);
  CHECK(first.resident == 100 * kMebibyte);
  CHECK(first.resident_high == 100 * kMebibyte);
  CHECK(first.pss == 60 * kMebibyte);
  proc.put({.pid = 40, .rss_mib = 90, .high_mib = 150, .pss_mib = 60});
  const HostReading second = tree.sample(0.1);
  CHECK(second.resident == 90 * kMebibyte);
  CHECK(second.resident_high == 150 * kMebibyte);
  CHECK(tree.sample(0.2).resident_high == 90 * kMebibyte);
}

TEST_CASE("pages that a child shares with its parent are counted once") {
  const FakeProc proc;
  proc.put({.pid = 40, .rss_mib = 300, .pss_mib = 300});
  ProcessTree tree(ProcFolder(proc.path()), 40, ProcessTree::Root::kJustStarted);
  CHECK(tree.sample(0).resident == 300 * kMebibyte);
  // It forks: the child maps the same pages, and takes 100 MiB of its own.
  proc.put({.pid = 40, .rss_mib = 300, .pss_mib = 150});
  proc.put({.pid = 41, .parent = 40, .rss_mib = 300, .pss_mib = 150});
  const HostReading forked = tree.sample(0.5);  // PSS was read less than a second ago
  CHECK(forked.members.size() == 2);
  CHECK(forked.rss == 600 * kMebibyte);
  CHECK(forked.resident == 300 * kMebibyte);
  proc.put({.pid = 41, .parent = 40, .rss_mib = 400, .pss_mib = 250});
  CHECK(tree.sample(0.9).resident == 400 * kMebibyte);
  const HostReading read = tree.sample(kLater);
  CHECK(read.pss == 400 * kMebibyte);
  CHECK(read.resident == 400 * kMebibyte);
}

TEST_CASE("what ended processes did stays counted; a pid that is used again is another process") {
  const FakeProc proc;
  proc.put({.pid = 40, .rss_mib = 10, .cpu_ticks = 1000, .minor_faults = 5, .read_bytes = 0});
  proc.put({.pid = 41, .parent = 40, .rss_mib = 10, .cpu_ticks = 300, .started = 1});
  ProcessTree tree(ProcFolder(proc.path()), 40, ProcessTree::Root::kJustStarted);
  const double both = tree.sample(0).cpu_seconds;
  CHECK(both > 0);
  proc.remove(41);
  CHECK(tree.sample(1).cpu_seconds == doctest::Approx(both));
  // Whether or not anyone has looked for children since.
  SUBCASE("looked") { CHECK(tree.sample(kLater / 2).members.size() == 1); }
  SUBCASE("not looked") {}
  proc.put({.pid = 41, .parent = 9, .rss_mib = 10, .cpu_ticks = 9000, .started = 2});
  CHECK(tree.sample(kLater).cpu_seconds == doctest::Approx(both));
  // The root's pid too.
  proc.put({.pid = 40, .parent = 9, .rss_mib = 10, .started = 5000});
  CHECK(!tree.sample(kLater + 1).alive);
}

TEST_CASE("of a process that ran already the past is not counted") {
  const FakeProc proc;
  proc.put(
      {.pid = 40, .rss_mib = 10, .cpu_ticks = 1000, .minor_faults = 50, .read_bytes = 1 << 20});
  proc.put({.pid = 41, .parent = 40, .rss_mib = 10, .cpu_ticks = 500});
  ProcessTree tree(ProcFolder(proc.path()), 40, ProcessTree::Root::kRunning);
  const HostReading first = tree.sample(0);
  CHECK(first.members.size() == 2);
  CHECK(first.cpu_seconds == 0);
  CHECK(first.minor_faults == 0);
  CHECK(first.read_bytes == 0);
  proc.put(
      {.pid = 40, .rss_mib = 10, .cpu_ticks = 1000, .minor_faults = 57, .read_bytes = 3 << 20});
  const HostReading second = tree.sample(1);
  CHECK(second.minor_faults == 7);
  CHECK(second.read_bytes == 2 << 20);
}

TEST_CASE("a zombie has ended, and its times count") {
  const FakeProc proc;
  proc.put({.pid = 40, .rss_mib = 10});
  ProcessTree tree(ProcFolder(proc.path()), 40, ProcessTree::Root::kJustStarted);
  CHECK(tree.sample(0).alive);
  proc.put({.pid = 40, .cpu_ticks = 100, .state = 'Z'});
  const HostReading last = tree.sample(1);
  CHECK(!last.alive);
  CHECK(last.members.empty());
  CHECK(last.cpu_seconds > 0);
}

TEST_CASE("no process, no figures") {
  const FakeProc proc;
  ProcessTree tree(ProcFolder(proc.path()), 40, ProcessTree::Root::kRunning);
  CHECK(!tree.sample(0).alive);
}
