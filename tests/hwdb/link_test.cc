#include "hwdb/link.h"

#include <doctest/doctest.h>

#include "hwdb/hwdb.h"

using namespace plimsoll;

TEST_CASE("link: the point of the largest number of GPUs not above what is asked") {
  const Link link = Hwdb::open()->link("pcie-3-x16").value();
  CHECK(link.rate.value == 15.75e9);
  CHECK(link.point(2).bus_bandwidth.value == 12.2e9);
  CHECK(link.point(3).bus_bandwidth.value == 12.2e9);
  CHECK(link.point(4).bus_bandwidth.value == 11.2e9);
  CHECK(link.point(64).bus_bandwidth.value == 8.8e9);
  CHECK(link.point(1).gpus == 2);
  CHECK(link.channels == 2);
}

TEST_CASE("link: nothing is faster than its nominal rate, and latency grows with GPUs") {
  const Hwdb hwdb = *Hwdb::open();
  for (const std::string& id : hwdb.link_ids()) {
    CAPTURE(id);
    const Link link = hwdb.link(id).value();
    Seconds latency;
    if (link.one_way) CHECK(*link.one_way <= link.rate);
    for (const LinkPoint& point : link.points) {
      CHECK(point.bus_bandwidth <= link.rate);
      if (link.one_way) CHECK(point.bus_bandwidth <= *link.one_way);
      CHECK(point.latency >= latency);
      latency = point.latency;
    }
  }
}

TEST_CASE("link: points must ascend and not be empty") {
  const auto with = [](const std::string& points) {
    return read_link(R"({"schema": "plimsoll.link", "version": 1, "id": "x", "name": "X",
                         "kind": "pcie", "rate": {"value": "1 GB/s", "source": "s"},
                         "channels": {"value": 2, "source": "s"}, "points": [)" +
                         points + "]}",
                     "x.json", "x");
  };
  const std::string two =
      R"({"gpus": 2, "bus_bandwidth": "1 GB/s", "latency": "1 us", "source": "s"})";
  CHECK(with(two));
  CHECK(with("").error()[0].code == "E402");
  CHECK(with(two + "," + two).error()[0].code == "E402");
}
