#include "estimator/app/report/sweep_record.h"

#include "estimator/app/report/document.h"
#include "graph/json/read_fields.h"

namespace plimsoll {
void describe(Fields& f, SweepRecord& record, bool time) {
  SweepPoint& point = record.point;
  f("configuration", record.number,
    "its number in the plan's order, the last parameter changing fastest");
  f("parameters", record.parameters);
  f("device_id", point.device_id);
  f.either(
      "error", point.failure.has_value(),
      [&] {
        if (!point.failure) point.failure.emplace(1);
        Diagnostic& why = point.failure->front();
        f.object("error", [&] {
          f("code", why.code);
          f("message", why.message, {.settings = true});
        });
      },
      [&] { describe(f, point, time); });
}

SweepRecord record_of(const SweepPlan& plan, const SweptConfiguration& configuration,
                      const SweepPoint& point) {
  SweepRecord record{.number = configuration.number, .point = point};
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const SweepParameter& parameter = plan.parameters[i];
    if (parameter.values.empty()) continue;
    record.parameters.emplace_back(parameter.name, parameter.values[configuration.values[i]]);
  }
  return record;
}

std::string to_json_line(const SweepPlan& plan, const SweptConfiguration& configuration,
                         const SweepPoint& point, bool time) {
  SweepRecord record = record_of(plan, configuration, point);
  JsonWriter out;
  JsonFields fields = json_fields(out);
  fields.object([&] { describe(fields, record, time); });
  return out.take();
}

const JsonValue* value_of(const SweepPlan& plan, const std::vector<size_t>& values,
                          std::string_view parameter) {
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const SweepParameter& one = plan.parameters[i];
    if (one.name == parameter && !one.values.empty()) return &one.values[values[i]];
  }
  return nullptr;
}

std::optional<SweepRecord> read_sweep_record(std::string_view line) {
  const auto record = read_object(line, "", [](JsonObject& object) {
    SweepRecord read;
    ReadFields fields(object);
    describe(fields, read, object.has("step_ns"));
    return read;
  });
  return record ? std::optional(*record) : std::nullopt;
}

}  // namespace plimsoll
