#include "estimator/settings/machine_file.h"

#include "estimator/library/workspace/asked.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

Result<std::shared_ptr<const AskedWorkspaces>> read_listed(const Machine& machine,
                                                           const std::string& file) {
  if (machine.workspaces.empty()) return nullptr;
  std::string lines;
  for (const std::string& answer : machine.workspaces) lines += answer + "\n";
  auto listed = TRY(AskedWorkspaces::read(lines, file + ", workspaces"));
  return std::make_shared<const AskedWorkspaces>(std::move(listed));
}

}  // namespace

Result<void> take_machine(const std::string& file, PlatformRequest& into) {
  auto machine = TRY(open_machine(file));
  auto listed = TRY(read_listed(machine, file));
  into.machine_file = file;
  into.listed = std::move(listed);
  into.machine = std::move(machine);
  return {};
}

}  // namespace plimsoll
