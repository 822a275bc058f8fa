#include "graph/parallel/layer_path.h"

namespace plimsoll::parallel {
namespace {

// The matrices of an adapter, behind its layer's path, and that layer, as peft calls them.
constexpr std::string_view kAdapterIn = ".lora_A.", kAdapterOut = ".lora_B.",
                           kAdapted = ".base_layer";

}  // namespace

std::string_view layer_path(const Node& layer) {
  std::string_view path = layer.module;
  if (path.ends_with(kAdapted)) path.remove_suffix(kAdapted.size());
  return path;
}

std::string_view module_around(std::string_view path) {
  return path.substr(0, path.rfind('.') + 1);
}

std::string last_of_adapter(std::string_view layer) {
  return std::string(layer) + std::string(kAdapterOut);
}

bool is_last_of_adapter(std::string_view name) { return name.find(kAdapterOut) != name.npos; }

bool is_of_adapter(std::string_view name) {
  return name.find(kAdapterIn) != name.npos || is_last_of_adapter(name);
}

}  // namespace plimsoll::parallel
