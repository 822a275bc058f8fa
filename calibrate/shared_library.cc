#include "calibrate/shared_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

namespace plimsoll {

Result<SharedLibrary> SharedLibrary::open(const std::vector<std::string>& names) {
  std::string said;
  for (const std::string& name : names) {
    if (void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL))
      return SharedLibrary(handle, name);
    const char* why = ::dlerror();
    said += fmt::format("{}{}", said.empty() ? "" : "; ", why ? why : name);
  }
  return error("E701", "no such library can be loaded: " + said);
}

Result<void*> SharedLibrary::find(const char* name) const {
  if (void* symbol = ::dlsym(handle_, name)) return symbol;
  return error("E702", fmt::format("{} has no function {}", name_, name));
}

std::string SharedLibrary::path() const {
  const link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name) return name_;
  return map->l_name;
}

}  // namespace plimsoll
