#include "monitor/process.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>

#include "tests/support/fake_proc.h"

using namespace plimsoll::monitor;
using plimsoll::test::FakeProc;

TEST_CASE("a process is read from its small files") {
  const FakeProc proc;
  proc.put({.pid = 40,
            .parent = 7,
            .name = "a (b) c",
            .rss_mib = 300,
            .high_mib = 310,
            .swap_mib = 5,
            .pss_mib = 120,
            .cpu_ticks = 250,
            .minor_faults = 12,
            .major_faults = 3,
            .read_bytes = 4096,
            .written_bytes = 8192,
            .started = 77,
            .threads = 9});
  const ProcFolder folder(proc.path());
  const auto p = folder.read(40);
  REQUIRE(p);
  CHECK(p->name == "a (b) c");
  CHECK(p->parent == 7);
  CHECK(p->started == 77);
  CHECK(p->threads == 9);
  CHECK(p->rss == int64_t{300} << 20);
  CHECK(p->rss_high == int64_t{310} << 20);
  CHECK(p->swap == int64_t{5} << 20);
  CHECK(p->cpu_seconds == doctest::Approx(250.0 / static_cast<double>(sysconf(_SC_CLK_TCK))));
  CHECK(p->minor_faults == 12);
  CHECK(p->major_faults == 3);
  CHECK(p->read_bytes == 4096);
  CHECK(p->written_bytes == 8192);
  CHECK(folder.pss(40) == int64_t{120} << 20);
  CHECK(!p->ended);
}

TEST_CASE("what the kernel does not tell is missing, and a process that is not there is nothing") {
  const FakeProc proc;
  proc.put({.pid = 40, .rss_mib = 1});
  proc.put({.pid = 41, .state = 'Z'});
  const ProcFolder folder(proc.path());
  CHECK(!folder.read(40)->read_bytes);
  CHECK(!folder.pss(40));
  CHECK(folder.read(41)->ended);
  CHECK(!folder.read(42));
}

TEST_CASE("children come from the threads' lists, or from a look at all processes") {
  const FakeProc proc;
  proc.put({.pid = 40});
  proc.put({.pid = 41, .parent = 40});
  proc.put({.pid = 42, .parent = 41});
  proc.put({.pid = 43, .parent = 1});
  ProcFolder folder(proc.path());
  CHECK(folder.children({40}) == std::vector<pid_t>{41});
  proc.put_children(40, 40, "41 ");
  proc.put_children(40, 44, "43 42");
  auto found = folder.children({40});
  std::ranges::sort(found);
  CHECK(found == std::vector<pid_t>{41, 42, 43});
}

TEST_CASE("this very process is there") {
  const ProcFolder folder;
  const auto p = folder.read(getpid());
  REQUIRE(p);
  CHECK(p->parent == getppid());
  CHECK(p->rss > 1 << 20);
  CHECK(p->rss_high >= p->rss - (1 << 20));  // counters of several cores are read one by one
}
