#include "hwdb/machine.h"

#include "graph/base/byte_source.h"
#include "graph/base/try.h"
#include "graph/json/json_fields.h"
#include "graph/json/read_fields.h"
#include "hwdb/host.h"
#include "hwdb/lookup.h"

namespace plimsoll {

Result<Machine> read_machine(std::string_view text, std::string_view file) {
  return read_object(text, file, [](JsonObject& root) {
    Machine machine = read_described<Machine>(root);
    if (machine.host.empty()) return machine;
    // The section's own faults name the file.
    if (const auto host = read_host(machine.host, root.file(), ""); !host)
      root.faults().insert(root.faults().end(), host.error().begin(), host.error().end());
    return machine;
  });
}

Result<Machine> open_machine(const std::string& path) {
  const auto text = TRY(read_text(path));
  return read_machine(text, path);
}

std::string write_machine(const Machine& machine) {
  JsonWriter out(JsonWriter::Layout::kIndented);
  JsonFields(out).visit(unchanged(machine));
  return out.take() + "\n";
}

}  // namespace plimsoll
