#include "hwdb/machine.h"

#include "graph/base/byte_source.h"
#include "graph/json/read_object.h"
#include "graph/json/reader.h"
#include "graph/json/writer.h"
#include "hwdb/host.h"
#include "hwdb/lookup.h"

namespace plimsoll {
namespace {

constexpr std::string_view kSchema = "plimsoll.machine";

// Beyond these a record is wrong, not a card.
constexpr RealRange kFactor{.low = 1e-3, .high = 1e3};
constexpr RealRange kError{.low = 0, .high = 1e3};
constexpr RealRange kClockHz{.low = 1e8, .high = 1e10};
constexpr IntegerRange kContextBytes{.low = 1, .high = int64_t{1} << 40};

MachineFactor read_factor(JsonObject& row) {
  MachineFactor factor;
  factor.kernel_class = row.required_string("class");
  factor.arithmetic = row.required_string("arithmetic");
  factor.pass = row.optional_string("pass").value_or("");
  factor.factor = row.required_real("factor", kFactor);
  factor.range90 = row.optional_real("range90", {.low = 0, .high = 5}).value_or(0);
  factor.kernels = row.required_integer("kernels", {.low = 1});
  factor.error_before = row.required_real("error_before", kError);
  factor.error_after = row.required_real("error_after", kError);
  row.finish();
  return factor;
}

std::string compact(const JsonValue& value) {
  JsonWriter out;
  write_value(out, value);
  return out.take();
}

void write_text(JsonWriter& out, const std::string& json) {
  const auto value = read_json(json, "a machine");
  if (value) write_value(out, *value);
}

// The section's own faults name the file.
std::string read_host_section(JsonObject& root) {
  const JsonValue* section = root.optional("host");
  if (!section) return {};
  std::string text = compact(*section);
  if (const auto host = read_host(text, root.file(), ""); !host)
    root.faults().insert(root.faults().end(), host.error().begin(), host.error().end());
  return text;
}

}  // namespace

Result<Machine> read_machine(std::string_view text, std::string_view file) {
  return read_object(text, file, [](JsonObject& root) {
    root.schema(kSchema, 1);
    Machine machine;
    machine.gpu = root.required_string("gpu");
    machine.source = root.required_string("source");
    for (const JsonValue& row : root.required_list("factors")) {
      JsonObject object(row, root.file(), root.faults());
      machine.factors.push_back(read_factor(object));
    }
    machine.clock = root.optional_real("clock", kClockHz).value_or(0);
    for (const JsonValue& answer : root.optional_list("workspaces"))
      machine.workspaces.push_back(compact(answer));
    machine.context_bytes = root.optional_integer("context_bytes", kContextBytes).value_or(0);
    machine.host = read_host_section(root);
    return machine;
  });
}

Result<Machine> open_machine(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return tl::make_unexpected(text.error());
  return read_machine(*text, path);
}

std::string write_machine(const Machine& machine) {
  JsonWriter out(JsonWriter::Layout::kIndented);
  out.begin_object();
  out.key("schema").string(kSchema);
  out.key("version").integer(1);
  out.key("gpu").string(machine.gpu);
  out.key("source").string(machine.source);
  out.key("factors").objects(machine.factors, [&](const MachineFactor& f) {
    out.key("class").string(f.kernel_class);
    out.key("arithmetic").string(f.arithmetic);
    if (!f.pass.empty()) out.key("pass").string(f.pass);
    out.key("factor").real(f.factor);
    if (f.range90 > 0) out.key("range90").real(f.range90);
    out.key("kernels").integer(f.kernels);
    out.key("error_before").real(f.error_before);
    out.key("error_after").real(f.error_after);
  });
  if (machine.clock > 0) out.key("clock").real(machine.clock);
  if (!machine.workspaces.empty()) {
    out.key("workspaces").begin_array();
    for (const std::string& answer : machine.workspaces) write_text(out, answer);
    out.end_array();
  }
  if (machine.context_bytes > 0) out.key("context_bytes").integer(machine.context_bytes);
  if (!machine.host.empty()) {
    out.key("host");
    write_text(out, machine.host);
  }
  out.end_object();
  return out.take() + "\n";
}

}  // namespace plimsoll
