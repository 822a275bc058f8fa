#include "hwdb/host.h"

#include <doctest/doctest.h>

#include "hwdb/hwdb.h"
#include "tests/support/scratch.h"

using namespace plimsoll;

TEST_CASE("host: the newest row not newer than the version, else the oldest") {
  const Host host = Hwdb::open()->host(kUnknownHost).value();
  const auto since = [&](const char* version) {
    return host.find("pytorch", *parse_version(version))->since.text();
  };
  CHECK(since("0.4") == "0");
  CHECK(since("1.0.1") == "0");
  CHECK(since("1.4") == "1.1");
  CHECK(since("1.13.1") == "1.1");
  CHECK(since("2.9") == "2");
  CHECK(host.find("neon", Version{}) == nullptr);
  const Host dgx = Hwdb::open()->host("dgx-1").value();
  CHECK(dgx.find("tensorflow", *parse_version("1.3"))->per_step.value == 6e-3);
}

TEST_CASE("host: the generic host knows every framework") {
  const Hwdb hwdb = *Hwdb::open();
  const Host host = hwdb.host("generic").value();
  for (const std::string& id : hwdb.framework_ids()) {
    CAPTURE(id);
    const FrameworkProfile profile = hwdb.framework(id).value();
    CHECK(host.find(profile.framework, profile.since) != nullptr);
  }
  CHECK(host.pageable_copy < host.pinned_copy);
}

TEST_CASE("host: a framework's way of a batch to the device is named where it was measured") {
  const Host host = Hwdb::open()->host("dlinfbench-titan-x-pascal").value();
  CHECK(host.find("pytorch", Version{})->input_path.value == 1e9);
  CHECK(host.find("mxnet", Version{})->input_path.value == 0);
}

TEST_CASE("host: a forward pass alone may have launches of its own") {
  const Host measured = Hwdb::open()->host("h100-vm").value();
  const Dispatch* dispatch = measured.find("pytorch", *parse_version("2.11"));
  REQUIRE(dispatch->per_forward_launch.has_value());
  CHECK(*dispatch->per_forward_launch < dispatch->per_launch);
}

TEST_CASE("host: machines that nobody named age with their cards") {
  const Host unknown = Hwdb::open()->host(kUnknownHost).value();
  CHECK_FALSE(unknown.single_thread.has_value());
  CHECK(unknown.speed(2020) == 1);
  CHECK(unknown.speed(2016) == doctest::Approx(1 / (1.1 * 1.1 * 1.1 * 1.1)));
  CHECK(release_year({7, 0}) < release_year({8, 6}));
  CHECK(release_year({8, 9}) == release_year({9, 0}));
}

TEST_CASE("host: what a file does not say is as on the unknown host, times its own speed") {
  const Host named = Hwdb::open()->host("xeon-e5-2698-v4").value();
  CHECK(named.id == "dgx-1");
  CHECK(named.speed(2024) == .88);
  const Version none;
  CHECK_FALSE(named.find("tensorflow", none)->reference);  // fitted there
  CHECK(named.find("pytorch", *parse_version("2.1"))->reference);
  CHECK(named.find("tensorflow", none)->loader.has_value());  // which nobody fitted
  const std::string text =
      R"({"schema": "plimsoll.host", "version": 1, "id": "mine", "name": "Mine",
    "year": {"value": 2018, "source": "receipt"}})";
  Host mine = read_host(text, "mine.json", {}).value();
  const Host unknown = Hwdb::open()->host(kUnknownHost).value();
  mine.complete(unknown);
  CHECK(mine.speed(2024) == doctest::Approx(unknown.speed(2018)));
  CHECK(mine.pageable_copy.value == unknown.pageable_copy.value);
}

TEST_CASE("host: a file of one's own") {
  const test::Scratch scratch;
  scratch.write("slow.json",
                R"({"schema": "plimsoll.host", "version": 1, "id": "slow", "name": "Slow",
    "single_thread": {"value": 0.5, "source": "measured"}})");
  const auto host = Hwdb::open()->host(scratch.path("slow.json"));
  REQUIRE(host.has_value());
  CHECK(host->speed(2024) == .5);
  CHECK(Hwdb::open()->host("no-such-host").error().front().code == "E144");
}
