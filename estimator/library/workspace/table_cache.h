// WorkspaceTableCache: what is known of a cuDNN version on a device, by type and layout; each
// tables is read when it is first asked for. Copies share them; any thread may ask.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "estimator/library/workspace/tables.h"
#include "graph/base/mutex.h"
#include "hwdb/device.h"
#include "hwdb/hwdb.h"
#include "hwdb/version.h"

namespace plimsoll {

int capability_of(const Device& device);  // 61 for 6.1

class WorkspaceTableCache {
 public:
  WorkspaceTableCache(const Hwdb& hwdb, const Device& device, const Version& cudnn,
                      std::shared_ptr<const AskedWorkspaces> asked = nullptr);
  // E301 for damaged tables.
  Result<const WorkspaceTables*> of(DType dtype, bool channels_last) const;

 private:
  struct Read {
    Mutex reading;
    std::map<std::pair<DType, bool>, WorkspaceTables> tables;
  };
  Hwdb hwdb_;
  WorkspaceKey key_;
  std::shared_ptr<const AskedWorkspaces> asked_;
  std::shared_ptr<Read> read_ = std::make_shared<Read>();
};

}  // namespace plimsoll
