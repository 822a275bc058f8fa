#include "estimator/memory/workspace/books.h"

namespace plimsoll {

int capability_of(const Device& device) {
  return device.compute_capability.major * 10 + device.compute_capability.minor;
}

WorkspaceBooks::WorkspaceBooks(const Hwdb& hwdb, const Device& device, const Version& cudnn,
                               std::shared_ptr<const AskedWorkspaces> asked)
    : hwdb_(hwdb), asked_(std::move(asked)) {
  const auto number = [&](size_t i) { return i < cudnn.numbers.size() ? cudnn.numbers[i] : 0; };
  key_.capability = capability_of(device);
  key_.cudnn_major = number(0);
  key_.cudnn_minor = number(1);
}

Result<const WorkspaceBook*> WorkspaceBooks::of(DType dtype, bool channels_last) const {
  const std::lock_guard<std::mutex> lock(shelf_->reading);
  const std::pair place{dtype, channels_last};
  auto at = shelf_->books.find(place);
  if (at == shelf_->books.end()) {
    WorkspaceKey key = key_;
    key.dtype = dtype;
    key.channels_last = channels_last;
    auto book = WorkspaceBook::load(hwdb_, key, asked_);
    if (!book) return tl::unexpected(book.error());
    at = shelf_->books.emplace(place, std::move(*book)).first;
  }
  return &at->second;
}

}  // namespace plimsoll
