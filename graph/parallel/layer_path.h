// Paths of layers' modules, without what peft wraps layers in.
#pragma once

#include <string>
#include <string_view>

#include "graph/ir/graph.h"

namespace plimsoll::parallel {

// Of a layer that adapters stand beside, the path that it had before.
std::string_view layer_path(const Node& layer);

// The module that a path stands in, with a dot.
std::string_view module_around(std::string_view path);

// How the last matrix of a layer's adapter is called, up to the adapter's name.
std::string last_of_adapter(std::string_view layer);

// Is a parameter of this name an adapter's?
bool is_of_adapter(std::string_view name);
// ... its last matrix's?
bool is_last_of_adapter(std::string_view name);

}  // namespace plimsoll::parallel
