// SharedLibrary: a library that is looked for when the program runs, so that the program starts
// without it. Never closed again: NVIDIA's libraries keep threads and state of their own.
//
//   auto cudnn = SharedLibrary::open({"/opt/cudnn/lib/libcudnn.so.9", "libcudnn.so.9"});
//   auto version = cudnn->function<size_t()>("cudnnGetVersion");
//   if (version) (*version)();
#pragma once

#include <string>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/try.h"

namespace plimsoll {

class SharedLibrary {
 public:
  // The first of `names` that can be loaded; a name without a slash is looked for where the dynamic
  // linker looks. E701 with what the linker says of each name. Its symbols are open to libraries
  // loaded later, which cuDNN's parts need.
  static Result<SharedLibrary> open(const std::vector<std::string>& names);

  // E702 where the library has no such function.
  template <class Signature>
  Result<Signature*> function(const char* name) const {
    auto found = TRY(find(name));
    return reinterpret_cast<Signature*>(found);
  }
  // Fills `function`, or adds to `faults` that there is none.
  template <class Signature>
  void load(Signature*& function, const char* name, Diagnostics& faults) const {
    const auto found = this->function<Signature>(name);
    if (found) {
      function = *found;
    } else {
      faults.insert(faults.end(), found.error().begin(), found.error().end());
    }
  }
  // The file it was loaded from, as the linker names it.
  std::string path() const;

 private:
  explicit SharedLibrary(void* handle, std::string name)
      : handle_(handle), name_(std::move(name)) {}
  Result<void*> find(const char* name) const;

  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace plimsoll
