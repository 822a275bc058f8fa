#include "estimator/library/workspace/table_cache.h"

#include "graph/base/try.h"

namespace plimsoll {

int capability_of(const Device& device) {
  return device.compute_capability.major * 10 + device.compute_capability.minor;
}

WorkspaceTableCache::WorkspaceTableCache(const Hwdb& hwdb, const Device& device,
                                         const Version& cudnn,
                                         std::shared_ptr<const AskedWorkspaces> asked)
    : hwdb_(hwdb), asked_(std::move(asked)) {
  const auto number = [&](size_t i) { return i < cudnn.numbers.size() ? cudnn.numbers[i] : 0; };
  key_.capability = capability_of(device);
  key_.cudnn_major = number(0);
  key_.cudnn_minor = number(1);
}

Result<const WorkspaceTables*> WorkspaceTableCache::of(DType dtype, bool channels_last) const {
  const std::lock_guard<Mutex> lock(read_->reading);
  const std::pair place{dtype, channels_last};
  auto at = read_->tables.find(place);
  if (at == read_->tables.end()) {
    WorkspaceKey key = key_;
    key.dtype = dtype;
    key.channels_last = channels_last;
    auto tables = TRY(WorkspaceTables::load(hwdb_, key, asked_));
    at = read_->tables.emplace(place, std::move(tables)).first;
  }
  return &at->second;
}

}  // namespace plimsoll
