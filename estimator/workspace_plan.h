// WorkspacePlan: the scratch memory that each kernel of a step takes on a platform.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "estimator/bound_step.h"
#include "estimator/memory/device_memory.h"
#include "estimator/memory/workspace.h"
#include "hwdb/device.h"
#include "hwdb/framework.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct Platform;
struct Request;

struct WorkspacePlan {
  std::vector<WorkspaceUse> uses;  // by KernelId; zero where a kernel needs none
  std::vector<std::string>
      bases;          // by KernelId: "asked", "table", "rule", "interval"; empty for no need
  std::string basis;  // the least trusted: "asked", "table", "rule", "interval"; else "none"
  int64_t asked = 0, convolutions = 0;  // kernels, and of how many cuDNN was asked
};

// What is known of a cuDNN version on a device, by type and layout; each book is read when it is
// first asked for. Copies share them; any thread may ask.
class WorkspaceBooks {
 public:
  WorkspaceBooks(const Hwdb& hwdb, const Device& device, const Version& cudnn,
                 std::shared_ptr<const AskedWorkspaces> asked = nullptr);
  // E301 for damaged tables.
  Result<const WorkspaceBook*> of(DType dtype, bool channels_last) const;

 private:
  struct Shelf {
    std::mutex reading;
    std::map<std::pair<DType, bool>, WorkspaceBook> books;
  };
  Hwdb hwdb_;
  WorkspaceKey key_;
  std::shared_ptr<const AskedWorkspaces> asked_;
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
};

int capability_of(const Device& device);  // 61 for 6.1
WorkspacePolicy workspace_policy(const FrameworkProfile& framework);

// Convolutions ask the WorkspaceBook of their type and layout. E103 for a malformed --cudnn.
Result<WorkspacePlan> plan_workspaces(const BoundStep& bound, const Platform& platform,
                                      const Request& request, const WorkspaceBooks& books);

}  // namespace plimsoll
