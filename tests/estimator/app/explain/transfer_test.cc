#include "estimator/app/explain/transfer.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

Transfer over(const char* link, int64_t gpus) {
  const Hwdb hwdb = *Hwdb::open();
  return transfer_over(*hwdb.link(link), *hwdb.host("generic"), 250'000'000, gpus);
}

int64_t ns_of(const Transfer& transfer, std::string_view scheme) {
  const auto row = std::ranges::find(transfer.exchange, scheme, &SchemeTime::scheme);
  REQUIRE(row != transfer.exchange.end());
  return row->ns;
}

}  // namespace

// Kim et al. (ISPASS 2017), section VI: 250 MB take 45 ms between two GPUs of a machine of two
// sockets.
TEST_CASE("transfer: AlexNet's gradients between two GPUs of two sockets take about 45 ms") {
  CHECK(static_cast<double>(over("pcie-3-dual-socket", 2).one_ns) / 1e6 ==
        doctest::Approx(45).epsilon(.15));
}

TEST_CASE("transfer: one after the other takes longer with every GPU, a ring hardly") {
  const Transfer two = over("pcie-3-dual-socket", 2), eight = over("pcie-3-dual-socket", 8);
  CHECK(two.one_ns == eight.one_ns);
  CHECK(ns_of(eight, "sequential") > 6 * ns_of(two, "sequential"));
  CHECK(ns_of(eight, "ring") < 2 * ns_of(two, "ring"));
}

TEST_CASE("transfer: machines exchange by the ring; how many a link was measured with is told") {
  const Transfer network = over("ethernet-1g", 4);
  CHECK(network.exchange.size() == 1);
  CHECK(network.measured_gpus == 2);
  CHECK(over("pcie-3-x16", 16).measured_gpus == 8);
}

}  // namespace plimsoll
