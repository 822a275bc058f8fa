#include "monitor/measured_record.h"

#include <fmt/format.h>

#include "estimator/app/report/version.h"
#include "estimator/settings/records.h"
#include "graph/json/writer.h"

namespace plimsoll::monitor {
namespace {

constexpr double kMebibyte = 1 << 20;

}  // namespace

std::string to_measured(const Request& request, const Summary& summary) {
  JsonWriter out(JsonWriter::Layout::kIndented);
  out.begin_object();
  out.key("source").begin_object();
  out.key("title").string(fmt::format("plimsoll-monitor {}: {}", kVersion, summary.command));
  out.end_object();
  out.key("kind").string("memory");
  out.key("records").begin_array().begin_object();
  const std::string& named = request.devices.front();
  out.key("device").string(named == "local" && summary.band ? summary.band->device_id : named);
  out.key("model").string(request.model);
  write_settings(out, request);
  if (summary.device_peak) {
    out.key(summary.basis == DeviceBasis::kCard ? "device_used_mb" : "nvidia_smi_mb");
    out.real(static_cast<double>(*summary.device_peak) / kMebibyte);
  }
  out.key("host_mb").real(static_cast<double>(summary.host_peak) / kMebibyte);
  const auto unsaid = settings_without_key(request);
  if (!unsaid.empty()) {
    out.key("flags").begin_array();
    for (const std::string& flag : unsaid) out.string("not_in_this_form: --" + flag);
    out.end_array();
  }
  out.end_object().end_array().end_object();
  return out.take() + "\n";
}

}  // namespace plimsoll::monitor
