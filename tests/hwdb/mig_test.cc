#include "hwdb/mig.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "hwdb/hwdb.h"

using namespace plimsoll;

TEST_CASE("mig: a part of a card is a device") {
  const Hwdb hwdb = *Hwdb::open();
  const Device card = hwdb.device("h100-sxm-80gb").value();
  const Device part = hwdb.device("h100-sxm-80gb:3g.40gb").value();
  CHECK(part.id == "h100-sxm-80gb:3g.40gb");
  CHECK(part.sms == 60);
  CHECK(part.memory_reported.value == int64_t{79} << 29);  // 39.5 GiB
  CHECK(part.bandwidth.value == card.bandwidth.value / 2);
  CHECK(part.l2.value == card.l2.value / 2);
  CHECK(part.nvlink_links == 0);
  CHECK(part.boost_clock == card.boost_clock);
  const Peak& fp32 = *part.peak("fp32");
  CHECK(fp32.rate.value ==
        doctest::Approx(fp32.flop_per_sm_cycle * 60 * fp32.clock.value).epsilon(.01));
  CHECK(part.origin.find("60 of 132 SMs") != std::string::npos);
  CHECK(hwdb.device("a100:3g.20gb")->id == "a100-sxm-40gb:3g.20gb");
  CHECK(hwdb.device("NVIDIA A100-SXM4-40GB MIG 1g.5gb")->sms == 14);
  CHECK(hwdb.device("a30:1g.6gb+me")->id == "a30:1g.6gb");
}

TEST_CASE("mig: no part of a card has more than the card") {
  const Hwdb hwdb = *Hwdb::open();
  Diagnostics warnings;
  int parts = 0;
  for (const Device& card : hwdb.devices(warnings)) {
    for (const MigProfile& profile : card.mig) {
      const std::string id = card.id + ":" + profile.name;
      CAPTURE(id);
      const auto part = hwdb.device(id);
      REQUIRE(part);
      ++parts;
      CHECK(part->sms <= card.sms);
      CHECK(part->memory <= std::max(card.memory, card.memory_reported));
      CHECK(part->bandwidth <= card.bandwidth);
      // "3g.40gb": its memory in decimal GB is near what the name says.
      const double named = std::stod(profile.name.substr(profile.name.find('.') + 1)) * 1e9;
      CHECK(static_cast<double>(part->memory.value) > .9 * named);
      CHECK(static_cast<double>(part->memory.value) < 1.1 * named);
    }
  }
  CHECK(parts > 50);
}

TEST_CASE("mig: what a card cannot be partitioned into is refused with what it can") {
  const Hwdb hwdb = *Hwdb::open();
  const auto other = hwdb.device("h100:9g.90gb");
  REQUIRE_FALSE(other);
  CHECK(other.error()[0].code == "E148");
  CHECK(other.error()[0].help.find("3g.40gb") != std::string::npos);
  for (const char* name : {"l4:1g.10gb", "h100:", "h100:3g", "h100:\x1b[2J"}) {
    CAPTURE(name);
    const auto refused = hwdb.device(name);
    REQUIRE_FALSE(refused);
    CHECK(refused.error()[0].code == "E148");
  }
  CHECK(hwdb.device("nosuch:1g.5gb").error()[0].code == "E140");
}
