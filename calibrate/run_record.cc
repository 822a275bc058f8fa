#include "calibrate/run_record.h"

#include "calibrate/card_wire.h"
#include "calibrate/kernel_record.h"
#include "graph/json/reader.h"

namespace plimsoll::calibrate {
namespace {

constexpr double kMilliseconds = 1e3;
// That others than this program may doubt the record (MeasuredRun::doubtful).
constexpr const char* kClockMoved = "suspect_clock_moved";

void write_timed(JsonWriter& out, const TimedOffer& timed) {
  write_offer(out, timed.offer);
  if (timed.failed.empty()) {
    out.key("ns").real(timed.seconds * kNanoseconds);
    out.key("low_ns").real(timed.low * kNanoseconds);
    out.key("high_ns").real(timed.high * kNanoseconds);
    write_state(out, timed.state);
    if (timed.clock_moved) out.key("clock_moved").boolean(true);
  } else {
    out.key("failed").string(timed.failed);
  }
}

TimedOffer read_timed(JsonObject& object) {
  TimedOffer timed;
  timed.offer = read_offer(object);
  timed.failed = object.optional_string("failed").value_or("");
  if (!timed.failed.empty()) return timed;
  timed.seconds = object.required_real("ns", kNotNegative) / kNanoseconds;
  timed.low = object.required_real("low_ns", kNotNegative) / kNanoseconds;
  timed.high = object.required_real("high_ns", kNotNegative) / kNanoseconds;
  timed.state = read_state(object);
  timed.clock_moved = object.optional_bool("clock_moved").value_or(false);
  return timed;
}

// As key_of() writes kernels that are not told.
std::string labelled_key(JsonObject& object) {
  JsonWriter out;
  out.begin_object();
  for (const char* word : {"op", "label"}) out.key(word).string(object.required_string(word));
  for (const char* count : {"read_bytes", "written_bytes", "flop"})
    out.key(count).integer(object.required_integer(count));
  for (const char* word : {"pass", "dtype"}) out.key(word).string(object.required_string(word));
  out.end_object();
  return out.take();
}

RunRecord read_kernel_line(JsonObject& object) {
  RunRecord record;
  record.cudnn = object.optional_string("cudnn").value_or("");
  record.cuda = object.optional_string("cuda").value_or("");
  record.driver = object.optional_string("driver").value_or("");
  KernelTiming& timing = record.timing;
  timing.skipped = object.optional_string("skipped").value_or("");
  if (const JsonValue* offers = object.optional("offers"))
    timing.offers = read_timed_offers(*offers, object.file(), object.faults());
  const int64_t last = static_cast<int64_t>(timing.offers.size()) - 1;
  if (const auto taken = object.optional_integer("taken", {.low = 0, .high = last}))
    timing.taken = static_cast<size_t>(*taken);
  if (object.has("label")) {
    record.key = labelled_key(object);
  } else if ((record.kernel = read_kernel(object))) {
    record.key = key_of(*record.kernel);
  }
  return record;
}

}  // namespace

std::string line_of(const RunRecord& record, const KernelAt& kernel) {
  const KernelTiming& timing = record.timing;
  JsonWriter out;
  out.begin_object().key("kind").string("kernel").key("device").string(record.device);
  write_kernel(out, kernel);
  const std::pair<const char*, const std::string*> words[] = {
      {"cudnn", &record.cudnn}, {"cuda", &record.cuda}, {"driver", &record.driver}};
  for (const auto& [key, word] : words) {
    if (!word->empty()) out.key(key).string(*word);
  }
  if (timing.taken) {
    const TimedOffer& taken = timing.offers[*timing.taken];
    out.key("time_ms").real(taken.seconds * kMilliseconds);
    if (taken.offer.workspace_bytes)
      out.key("workspace_bytes").integer(*taken.offer.workspace_bytes);
    if (taken.clock_moved) out.key("flags").begin_array().string(kClockMoved).end_array();
    out.key("taken").integer(static_cast<int64_t>(*timing.taken));
  } else {
    out.key("skipped").string(timing.skipped);
  }
  if (!timing.offers.empty()) {
    out.key("offers").objects(timing.offers,
                              [&](const TimedOffer& timed) { write_timed(out, timed); });
  }
  out.end_object();
  return out.take();
}

std::string line_of(const Figure& figure, const std::string& device, const std::string& driver) {
  JsonWriter out;
  out.begin_object().key("kind").string("memory").key("device").string(device);
  out.key("quantity").string(figure.quantity).key("unit").string(figure.unit);
  out.key("value").real(figure.value);
  if (!driver.empty()) out.key("driver").string(driver);
  out.end_object();
  return out.take();
}

std::vector<TimedOffer> read_timed_offers(const JsonValue& list, std::string_view file,
                                          Diagnostics& faults) {
  std::vector<TimedOffer> offers;
  if (!list.list()) {
    faults.push_back(error("E311", "\"offers\" is no list", {std::string(file), list.line, 0, {}})
                         .value()
                         .front());
    return offers;
  }
  for (const JsonValue& value : *list.list()) {
    JsonObject each(value, file, faults);
    offers.push_back(read_timed(each));
  }
  return offers;
}

Result<RunLine> read_run_line(std::string_view text, const std::string& place) {
  const auto value = read_json(text, place);
  if (!value) return tl::make_unexpected(value.error());
  Diagnostics faults;
  JsonObject object(*value, place, faults, true);
  RunLine line;
  line.device = object.required_string("device");
  const std::string kind = object.required_choice("kind", {"kernel", "memory"});
  if (kind == "memory") {
    line.figure = Figure{object.required_string("quantity"), object.required_string("unit"),
                         object.required_real("value", kNotNegative)};
  } else if (!has_error(faults)) {
    line.kernel = read_kernel_line(object);
    line.kernel->device = line.device;
  }
  if (has_error(faults)) return tl::make_unexpected(faults);
  return line;
}

}  // namespace plimsoll::calibrate
