#include "estimator/report/sweep_record.h"

#include <array>

#include "estimator/report/json_parts.h"
#include "estimator/report/spelling.h"
#include "graph/json/reader.h"

namespace plimsoll {
namespace {

std::optional<Range> range_in(const JsonValue* value) {
  const JsonValue::List* ends = value ? value->list() : nullptr;
  if (!ends || ends->size() != 2) return std::nullopt;
  const auto low = (*ends)[0].integer(), high = (*ends)[1].integer();
  if (!low || !high) return std::nullopt;
  return Range{*low, *high};
}

std::optional<Verdict> verdict_in(const JsonValue* value) {
  const std::string* word = value ? value->string() : nullptr;
  for (const Verdict verdict : {Verdict::kFits, Verdict::kMayFit, Verdict::kDoesNotFit}) {
    if (word && *word == name(verdict)) return verdict;
  }
  return std::nullopt;
}

// Takes members one by one; the first that is missing or of another kind sticks.
class MemberReader {
 public:
  explicit MemberReader(const JsonValue& object) : object_(object) {}

  void take(std::string_view key, int64_t& into) { set(into, integer(key)); }
  void take(std::string_view key, bool& into) {
    const JsonValue* value = object_.find(key);
    set(into, value ? value->boolean() : std::nullopt);
  }
  void take(std::string_view key, double& into) {
    const JsonValue* value = object_.find(key);
    set(into, value ? value->real() : std::nullopt);
  }
  void take(std::string_view key, std::string& into) {
    const JsonValue* value = object_.find(key);
    const std::string* text = value ? value->string() : nullptr;
    set(into, text ? std::optional(*text) : std::nullopt);
  }
  void take(std::string_view key, Range& into) { set(into, range_in(object_.find(key))); }
  void take(std::string_view key, Verdict& into) { set(into, verdict_in(object_.find(key))); }
  bool good() const { return good_; }

 private:
  std::optional<int64_t> integer(std::string_view key) const {
    const JsonValue* value = object_.find(key);
    return value ? value->integer() : std::nullopt;
  }
  template <class T>
  void set(T& into, const std::optional<T>& value) {
    good_ = good_ && value;
    if (value) into = *value;
  }

  const JsonValue& object_;
  bool good_ = true;
};

}  // namespace

void write_sweep_record(JsonWriter& out, const SweepPlan& plan,
                        const SweptConfiguration& configuration, const SweepPoint& point,
                        bool time) {
  out.key("configuration").integer(configuration.number);
  out.key("parameters").begin_object();
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const SweepParameter& parameter = plan.parameters[i];
    if (parameter.values.empty()) continue;
    out.key(parameter.name);
    write_value(out, parameter.values[configuration.values[i]]);
  }
  out.end_object();
  out.key("device_id").string(point.device_id);
  if (point.failure) {
    out.key("error").begin_object();
    out.key("code").string(point.failure->front().code);
    out.key("message").string(spelled(point.failure->front().message)).end_object();
    return;
  }
  out.key("tier").string("replay");
  out.key("fits").boolean(point.fits);
  out.key("may_fit").boolean(point.verdict == Verdict::kMayFit);
  out.key("verdict").string(name(point.verdict));
  out.key("usable_bytes").integer(point.usable_bytes);
  out.key("device_bytes").integer(point.device_bytes);
  write_range(out.key("device_range_bytes"), point.device_range_bytes);
  if (!time) return;
  out.key("step_ns").integer(point.step_ns);
  write_range(out.key("step_range_ns"), point.step_range_ns);
  out.key("samples_per_second").real(point.samples_per_second);
  out.key("sample_unit").string(point.sample_unit);
  out.key("host_bound").boolean(point.host_bound);
}

std::string to_json_line(const SweepPlan& plan, const SweptConfiguration& configuration,
                         const SweepPoint& point, bool time) {
  JsonWriter out;
  out.begin_object();
  write_sweep_record(out, plan, configuration, point, time);
  return out.end_object().take();
}

std::optional<SweepRecord> read_sweep_record(std::string_view line) {
  const auto object = read_json(line, "", {});
  if (!object) return std::nullopt;
  SweepRecord record;
  SweepPoint& point = record.point;
  MemberReader members(*object);
  members.take("configuration", record.number);
  members.take("device_id", point.device_id);
  if (const JsonValue* why = object->find("error")) {
    Diagnostic failure;
    MemberReader inside(*why);
    inside.take("code", failure.code);
    inside.take("message", failure.message);
    point.failure = {failure};
    return members.good() && inside.good() ? std::optional(record) : std::nullopt;
  }
  members.take("fits", point.fits);
  members.take("verdict", point.verdict);
  members.take("usable_bytes", point.usable_bytes);
  members.take("device_bytes", point.device_bytes);
  members.take("device_range_bytes", point.device_range_bytes);
  if (object->find("step_ns")) {
    members.take("step_ns", point.step_ns);
    members.take("step_range_ns", point.step_range_ns);
    members.take("samples_per_second", point.samples_per_second);
    members.take("sample_unit", point.sample_unit);
    members.take("host_bound", point.host_bound);
  }
  return members.good() ? std::optional(record) : std::nullopt;
}

}  // namespace plimsoll
