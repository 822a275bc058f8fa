#include "hwdb/device_names.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hwdb/hwdb.h"

using namespace plimsoll;

TEST_CASE("device names: what people vary does not matter") {
  for (const char* name : {"NVIDIA GeForce RTX 3090", "GeForce RTX 3090", "rtx-3090", "RTX3090",
                           "nvidia rtx 3090", "NVIDIA-GeForce-RTX-3090", "RTX_3090"}) {
    CAPTURE(name);
    CHECK(device_key(name) == "rtx3090");
  }
  CHECK(device_key("NVIDIA TITAN X (Pascal)") == "titanxpascal");
  CHECK(device_key("NVIDIA A100-SXM4-40GB") == "a100sxm440gb");
  CHECK(device_key("") == "");
  CHECK(device_key("NVIDIA GeForce") == "");
  CHECK(device_key("NVIDIA GeForce RTX 3060 Laptop GPU") != device_key("rtx-3060"));
  CHECK(split_mig("h100:3g.40gb") ==
        std::pair<std::string_view, std::string_view>("h100", "3g.40gb"));
  CHECK(split_mig("NVIDIA H100 PCIe MIG 1g.10gb") ==
        std::pair<std::string_view, std::string_view>("NVIDIA H100 PCIe", "1g.10gb"));
  CHECK(split_mig("l4").second.empty());
  CHECK(is_device_file("./l4"));
  CHECK(is_device_file("card.json"));
  CHECK_FALSE(is_device_file("l4"));
}

TEST_CASE("device names: what drivers print finds the card") {
  const Hwdb hwdb = *Hwdb::open();
  const std::pair<const char*, const char*> kPrinted[] = {
      {"NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"},
      {"A100-SXM4-40GB", "a100-sxm-40gb"},
      {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"},
      {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
      {"NVIDIA A100-SXM4-80GB", "a100-sxm-80gb"},
      {"Tesla T4", "tesla-t4"},
      {"Tesla V100-SXM2-16GB", "tesla-v100-sxm2-16gb"},
      {"Tesla P100-PCIE-16GB", "tesla-p100-pcie-16gb"},
      {"Tesla K80", "tesla-k80"},
      {"GRID K520", "grid-k520"},
      {"NVIDIA GeForce GTX 1080 Ti", "gtx-1080-ti"},
      {"GeForce GTX 1060 3GB", "gtx-1060-3gb"},
      {"NVIDIA GeForce RTX 2080 SUPER", "rtx-2080-super"},
      {"NVIDIA GeForce RTX 4070 Ti SUPER", "rtx-4070-ti-super"},
      {"NVIDIA RTX A6000", "rtx-a6000"},
      {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
      {"Quadro RTX 6000", "quadro-rtx-6000"},
      {"NVIDIA A10G", "a10g"},
      {"NVIDIA H100 80GB HBM3", "h100-sxm-80gb"},
      {"NVIDIA H100 PCIe", "h100-pcie-80gb"},
      {"NVIDIA H100 NVL", "h100-nvl"},
      {"NVIDIA GH200 480GB", "gh200"},
      {"NVIDIA B300 SXM6 AC", "b300"},
      {"4090", "rtx-4090"},
      {"rtx3080ti", "rtx-3080-ti"},
  };
  for (const auto& [printed, id] : kPrinted) {
    const std::string name = printed;
    CAPTURE(name);
    const auto device = hwdb.device(name);
    REQUIRE(device);
    CHECK(device->id == id);
    CHECK(device->warnings.empty());
  }
}

TEST_CASE("device names: a name of several cards is that of the one it spells, and said") {
  const Hwdb hwdb = *Hwdb::open();
  CHECK(hwdb.devices_called("NVIDIA GeForce RTX 3080") ==
        std::vector<std::string>{"rtx-3080", "rtx-3080-12gb"});
  const auto shared = hwdb.device("NVIDIA GeForce RTX 3080");
  REQUIRE(shared);
  CHECK(shared->id == "rtx-3080");
  REQUIRE(shared->warnings.size() == 1);
  CHECK(shared->warnings[0].code == "W405");
  CHECK(shared->warnings[0].message.find("rtx-3080-12gb") != std::string::npos);
  CHECK(hwdb.device("rtx-3080")->warnings.empty());
  CHECK(hwdb.device("rtx-3080-12gb")->warnings.empty());
}

TEST_CASE("device names: the index made while building has what the files have, and no more") {
  const Hwdb hwdb = *Hwdb::open();
  Diagnostics warnings;
  size_t names = 0;
  const auto has = [](const std::string& name, const std::string& id, bool own) {
    return std::ranges::any_of(built_in_device_names(), [&](const DeviceName& row) {
      return row.key == device_key(name) && row.id == id && row.own == own;
    });
  };
  for (const Device& device : hwdb.devices(warnings)) {
    CAPTURE(device.id);
    CHECK(has(device.id, device.id, true));
    for (const std::string& name : device.aliases) CHECK(has(name, device.id, true));
    for (const std::string& name : device.names) CHECK(has(name, device.id, false));
    names += 1 + device.aliases.size() + device.names.size();
    CHECK((device.names.empty()) == (device.id == "unit"));
  }
  CHECK(warnings.empty());
  CHECK(built_in_device_names().size() == names);
}

TEST_CASE("device names: other makers' accelerators are refused for what they are") {
  const Hwdb hwdb = *Hwdb::open();
  const std::pair<const char*, const char*> kOthers[] = {
      {"mi300x", "AMD"},
      {"AMD Instinct MI250X", "AMD"},
      {"Radeon RX 7900 XTX", "AMD"},
      {"tpu-v4", "TPU"},
      {"TPUv5e", "TPU"},
      {"Apple M2 Max", "Apple"},
      {"m3-max", "Apple"},
      {"Intel Gaudi 2", "Intel"},
      {"Intel(R) Arc(TM) A770", "Intel"},
      {"aws-trainium2", "AWS"},
      {"xeon", "CPUs"},
      {"rx 7900 xtx", "AMD"},
      {"W7900", "AMD"},
      {"RX-6800", "AMD"},
      {"Ascend 910B", "Ascend"},
      {"huawei-npu", "Ascend"},
      {"MLU370", "other makers"},
  };
  for (const auto& [asked, maker] : kOthers) {
    const std::string name = asked;
    CAPTURE(name);
    const auto refused = hwdb.device(name);
    REQUIRE_FALSE(refused);
    CHECK(refused.error()[0].code == "E145");
    CHECK(refused.error()[0].message.find(maker) != std::string::npos);
    CHECK(exit_status(refused.error()) == 2);
  }
  CHECK(hwdb.device("m40")->id == "tesla-m40");
  CHECK(hwdb.device("m4000")->id == "quadro-m4000");
}

TEST_CASE("device names: a card is found by its line and by its memory too, and by no other's") {
  CHECK(split_size("A100-40G").name == "a100");
  CHECK(split_size("A100-40G").gibibytes == 40);
  CHECK(split_size("3060 12 GB").gibibytes == 12);
  CHECK(split_size("rtx-3090").gibibytes == 0);
  CHECK(split_size("h100").gibibytes == 0);
  CHECK(split_size("12gb").gibibytes == 0);
  const Hwdb hwdb = *Hwdb::open();
  const std::pair<const char*, const char*> kLoose[] = {
      {"A100-40G", "a100-sxm-40gb"},    {"3060 12gb", "rtx-3060"},
      {"RTX 3090 24GB", "rtx-3090"},    {"Tesla A100 40GB", "a100-sxm-40gb"},
      {"GeForce 4090 24G", "rtx-4090"}, {"NVIDIA Tesla L4 24GB", "l4"}};
  for (const auto& [asked, id] : kLoose) {
    const std::string name = asked;
    CAPTURE(name);
    const auto found = hwdb.device(name);
    REQUIRE(found);
    CHECK(found->id == id);
  }
  CHECK_FALSE(hwdb.device("3090 48GB"));  // nobody makes one
  CHECK_FALSE(hwdb.device("tesla"));
  CHECK_FALSE(hwdb.device("24GB"));
}
