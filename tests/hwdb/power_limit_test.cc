#include "hwdb/power_limit.h"

#include <doctest/doctest.h>

#include "hwdb/hwdb.h"

using namespace plimsoll;

namespace {

double share_of(const Device& card) {
  return sustained_share(
      {card.architecture, card.tdp, static_cast<double>(card.sms), card.boost_clock});
}

double share_of(const char* card) { return share_of(Hwdb::open()->device(card).value()); }

}  // namespace

TEST_CASE("power limit: cards whose measured steps keep the boost clock keep it") {
  for (const char* card : {"rtx-3090", "rtx-4090", "a100-sxm-80gb", "h100-sxm-80gb", "rtx-2080-ti",
                           "tesla-v100-sxm2-16gb", "titan-v", "quadro-p6000"}) {
    CAPTURE(card);
    CHECK(share_of(card) == 1);
  }
}

TEST_CASE("power limit: each architecture is judged by a card as its file has it") {
  for (const char* card : {"quadro-p6000", "tesla-p100-pcie-16gb", "titan-v", "rtx-2080-ti",
                           "a100-sxm-40gb", "rtx-3090", "rtx-4090", "h100-sxm-80gb", "rtx-5090"}) {
    CAPTURE(card);
    Device device = Hwdb::open()->device(card).value();
    CHECK(share_of(device) == 1);
    device.tdp = device.tdp * 0.97;
    CHECK(share_of(device) == doctest::Approx(.98));
  }
}

TEST_CASE("power limit: the same chip with fewer watts is slower") {
  CHECK(share_of("a100-pcie-40gb") < share_of("a100-pcie-80gb"));
  CHECK(share_of("a100-pcie-80gb") < share_of("a100-sxm-80gb"));
  CHECK(share_of("h100-pcie-80gb") < share_of("h100-sxm-96gb"));
  CHECK(share_of("rtx-4090-laptop") < share_of("rtx-4090"));
  CHECK(share_of("a10") < share_of("rtx-a6000"));
  for (const std::string& id : Hwdb::open()->device_ids()) {
    CAPTURE(id);
    CHECK(share_of(id.c_str()) <= 1);
    CHECK(share_of(id.c_str()) > .5);
  }
}

TEST_CASE("power limit: what was measured of a card stands before the rule") {
  const Device t4 = Hwdb::open()->device("tesla-t4").value();
  CHECK(t4.sustained_clock.value == doctest::Approx(950e6));
  CHECK(share_of(t4) > t4.sustained_clock / t4.boost_clock);
}

TEST_CASE("power limit: an architecture without a card that keeps its clock has no rule") {
  Device device = Hwdb::open()->device("rtx-3090").value();
  device.tdp = Watts{100};
  CHECK(share_of(device) < 1);
  device.architecture = "kepler";
  CHECK(share_of(device) == 1);
}

// NVIDIA's whitepaper of the H100: 1830 of 1980 MHz.
TEST_CASE("power limit: tensor cores keep the clock for which their maker rates them") {
  const Device h100 = Hwdb::open()->device("h100-sxm-80gb").value();
  CHECK(tensor_share(h100.architecture) ==
        doctest::Approx(h100.peak("bf16_tensor")->clock / h100.boost_clock));
  CHECK(tensor_share("ampere-ga100") == doctest::Approx(.9255).epsilon(1e-3));
  CHECK(tensor_share("kepler") == 1);
}
