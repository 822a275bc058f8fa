#include "hwdb/host.h"

#include <doctest/doctest.h>

#include "hwdb/hwdb.h"

using namespace plimsoll;

TEST_CASE("host: the newest row not newer than the version, else the oldest") {
  const Host host = Hwdb::open()->host(kUnknownHost).value();
  const auto since = [&](const char* version) {
    return host.find("pytorch", *parse_version(version))->since.text();
  };
  CHECK(since("0.4") == "0");
  CHECK(since("1.4") == "0");
  CHECK(since("1.13.1") == "1.8");
  CHECK(since("2.9") == "2");
  CHECK(host.find("neon", Version{}) == nullptr);
  const Host dgx = Hwdb::open()->host("dgx-1").value();
  CHECK(dgx.find("pytorch", Version{}) == nullptr);
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
  const Host host = Hwdb::open()->host(kUnknownHost).value();
  CHECK_FALSE(host.find("pytorch", *parse_version("2.9"))->per_forward_launch.has_value());
}

TEST_CASE("host: machines that nobody named age with their cards") {
  const Host host = Hwdb::open()->host(kUnknownHost).value();
  const Dispatch* dispatch = host.find("pytorch", *parse_version("2.1"));
  REQUIRE(dispatch->per_launch_older.has_value());
  CHECK(*dispatch->per_launch_older > dispatch->per_launch);
  CHECK_FALSE(host.find("caffe", Version{})->per_launch_older.has_value());
}
