#include "calibrate/run_record.h"

#include "calibrate/card_wire.h"
#include "calibrate/kernel_record.h"
#include "graph/base/try.h"
#include "graph/json/json_fields.h"
#include "graph/json/read_fields.h"

namespace plimsoll::calibrate {
namespace {

constexpr double kMilliseconds = 1e3;
// That others than this program may doubt the record (MeasuredRun::doubtful).
constexpr const char* kClockMoved = "suspect_clock_moved";

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
  ReadFields fields(object);
  fields("offers", timing.offers, {.absent_where = false});
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
  JsonFields fields(out);
  fields("offers", unchanged(timing.offers), {.absent_where = timing.offers.empty()});
  out.end_object();
  return out.take();
}

std::string line_of(const Figure& figure, const std::string& device, const std::string& driver) {
  JsonWriter out;
  out.begin_object().key("kind").string("memory").key("device").string(device);
  JsonFields fields(out);
  describe(fields, unchanged(figure));
  if (!driver.empty()) out.key("driver").string(driver);
  out.end_object();
  return out.take();
}

Result<RunLine> read_run_line(std::string_view text, const std::string& place) {
  const auto value = TRY(read_json(text, place));
  Diagnostics faults;
  JsonObject object(value, place, faults, true);
  RunLine line;
  line.device = object.required_string("device");
  const std::string kind = object.required_choice("kind", {"kernel", "memory"});
  if (kind == "memory") {
    line.figure = read_described<Figure>(object);
  } else if (!has_error(faults)) {
    line.kernel = read_kernel_line(object);
    line.kernel->device = line.device;
  }
  if (has_error(faults)) return tl::make_unexpected(faults);
  return line;
}

}  // namespace plimsoll::calibrate
