// What people call GPUs: ids, aliases, and names as drivers print them ("NVIDIA A100-SXM4-40GB").
// The built-in names are indexed while building (tools/index_devices.cc): finding one reads none of
// the device files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll {

struct DeviceName {
  std::string_view key;  // device_key() of the name
  std::string_view id;
  bool own = true;  // an id or alias; else what drivers print, which several cards may share
};

// The built-in names, sorted by key; generated.
std::span<const DeviceName> built_in_device_names();

// A name without what people vary: "NVIDIA GeForce RTX 3090", "RTX-3090" and "rtx3090" are all
// "rtx3090".
std::string device_key(std::string_view name);

// A card and the part of it that a name ends with, where it does: "h100:3g.40gb" as ids have it,
// "NVIDIA H100 PCIe MIG 3g.40gb" as drivers print it.
std::pair<std::string_view, std::string_view> split_mig(std::string_view name);

// Whether a name is a path to a device file.
bool is_device_file(std::string_view name);

// A name and how much memory the card has, as people add it: "A100-40G" and "3060 12GB" are
// ("A100", 40) and ("3060", 12). 0 where it says none.
struct SizedName {
  std::string name;
  int64_t gibibytes = 0;
};
SizedName split_size(std::string_view name);

// "v100" of "Tesla V100": without the line that the maker sold it in.
std::string without_line(std::string_view name);

}  // namespace plimsoll
