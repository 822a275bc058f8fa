#include "monitor/attribution.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/support/samples.h"
#include "tests/support/scratch.h"

using namespace plimsoll;
using namespace plimsoll::monitor;
using plimsoll::test::card;
using plimsoll::test::host_sample;
using plimsoll::test::kMebibyte;

TEST_CASE("a process has what the driver lists for it") {
  Sample sample = host_sample(0, 100);
  attribute({.gpus = {card(40, 512 * kMebibyte)}}, true, sample);
  CHECK(sample.basis == DeviceBasis::kProcess);
  CHECK(sample.device_bytes() == 512 * kMebibyte);
}

TEST_CASE("a process that uses no card has nothing there, which is not unknown") {
  Sample sample = host_sample(0, 100);
  attribute({.gpus = {card(77, 512 * kMebibyte)}}, true, sample);
  CHECK(sample.basis == DeviceBasis::kProcess);
  CHECK(sample.device_bytes() == 0);
}

TEST_CASE("where pids are not ours, or memory is not told, the whole card is shown") {
  Sample other = host_sample(0, 100);
  attribute({.gpus = {card(40, 512 * kMebibyte)}}, false, other);  // 40 by chance
  CHECK(other.basis == DeviceBasis::kCard);
  CHECK(other.device_bytes() == 3072 * kMebibyte);
  Sample hidden = host_sample(0, 100);
  attribute({.gpus = {card(40, std::nullopt)}}, true, hidden);
  CHECK(hidden.basis == DeviceBasis::kCard);
  GpuReading unlisted = card(40, 0);
  unlisted.processes.reset();
  Sample none = host_sample(0, 100);
  attribute({.gpus = {card(40, 5), unlisted}}, true, none);
  CHECK(none.basis == DeviceBasis::kCard);
  CHECK(none.devices[0].bytes == none.devices[0].gpu.used_bytes);
}

TEST_CASE("no card is no figure") {
  Sample sample = host_sample(0, 100);
  attribute({}, true, sample);
  CHECK(sample.basis == DeviceBasis::kNone);
  CHECK(!sample.device_bytes());
}

TEST_CASE("the first pid namespace is known by its number") {
  const plimsoll::test::Scratch scratch;
  const auto link = [&](const char* name, const char* target) {
    REQUIRE(::symlink(target, scratch.path(name).c_str()) == 0);
    return in_first_pid_namespace(scratch.path(name));
  };
  CHECK(link("first", "pid:[4026531836]"));
  CHECK(!link("container", "pid:[4026532198]"));
  CHECK(!in_first_pid_namespace(scratch.path("missing")));
}
