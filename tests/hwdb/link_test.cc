#include "hwdb/link.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "hwdb/hwdb.h"

using namespace plimsoll;

namespace {

// Links between pairs of GPUs of a DGX-1 with V100 (NVIDIA Tesla V100 whitepaper, hybrid cube
// mesh).
using Mesh = std::array<std::array<int, 8>, 8>;
constexpr Mesh kCubeMesh = {{{0, 1, 1, 2, 2, 0, 0, 0},
                             {1, 0, 2, 1, 0, 2, 0, 0},
                             {1, 2, 0, 2, 0, 0, 1, 0},
                             {2, 1, 2, 0, 0, 0, 0, 1},
                             {2, 0, 0, 0, 0, 1, 1, 2},
                             {0, 2, 0, 0, 1, 0, 2, 1},
                             {0, 0, 1, 0, 1, 2, 0, 2},
                             {0, 0, 0, 1, 2, 1, 2, 0}}};

// How many rings through the first GPUs have links of their own.
int rings_of(const Mesh& links, size_t gpus) {
  std::vector<size_t> order(gpus);
  for (size_t i = 0; i < gpus; ++i) order[i] = i;
  int most = 0;
  do {
    Mesh left = links;
    bool closes = true;
    for (size_t i = 0; i < gpus && closes; ++i) {
      const size_t from = order[i], to = order[(i + 1) % gpus];
      closes = left[from][to] > 0;
      --left[from][to];
      --left[to][from];
    }
    if (closes) most = std::max(most, 1 + rings_of(left, gpus));
  } while (std::next_permutation(order.begin() + 1, order.end()));
  return most;
}

}  // namespace

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

TEST_CASE("link: as many rings of a cube mesh as close among so many V100") {
  const Link link = Hwdb::open()->link("nvlink-2").value();
  const double one = link.point(2).bus_bandwidth.value;
  const std::pair<size_t, int> found[] = {{3, 1}, {4, 2}, {6, 1}, {7, 2}, {8, 3}};
  for (const auto& among : found) {
    CAPTURE(among.first);
    CHECK(rings_of(kCubeMesh, among.first) == among.second);
    CHECK(link.point(static_cast<int64_t>(among.first)).bus_bandwidth.value ==
          doctest::Approx(2 * among.second * one).epsilon(.06));
  }
  CHECK(rings_of(kCubeMesh, 5) == 0);
  CHECK(link.point(5).bus_bandwidth.value == doctest::Approx(one * 8 / 5).epsilon(.01));
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
