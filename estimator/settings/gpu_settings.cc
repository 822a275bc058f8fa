// The GPU, and what there is of its memory.
#include "estimator/settings/acts.h"
#include "estimator/settings/machine_file.h"
#include "estimator/settings/record_forms.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"

namespace plimsoll {
namespace {

using Type = SettingValue::Type;

constexpr SettingValue cards() {
  return {.form = SettingValue::Form::kSeveral,
          .type = Type::kPath,
          .placeholder = "ID",
          .read = [](const SettingRow&, std::string_view text, Request& into) -> Result<void> {
            into.devices.emplace_back(text);
            return {};
          },
          .write =
              [](JsonWriter& out, const Request& from) {
                if (from.devices.size() == 1) {
                  out.string(from.devices.front());
                } else {
                  out.strings(from.devices);
                }
              }};
}

constexpr SettingValue machine() {
  SettingValue value = text_value<&Request::machine_file>("FILE", Type::kPath);
  value.read = [](const SettingRow&, std::string_view text, Request& into) -> Result<void> {
    return text.empty() ? Result<void>() : take_machine(std::string(text), into);
  };
  return value;
}

constexpr SettingRow kGpuRows[] = {
    {.name = "gpu",
     .group = kGpuGroup,
     .shown = kOften,
     .help = "id ('plimsoll gpus'), GPU file, local",
     .default_text = "this machine's",
     .value = cards(),
     .record = {.name = "device", .write = write_nothing, .composed = true},
     .axis = SweepAxis::kGpu},
    {.name = "mem",
     .group = kGpuGroup,
     .help = "capacity instead of the GPU's, e.g. 10GiB",
     .value = size_value<&Request::memory_bytes>(),
     .record = {.of_run = false}},
    {.name = "reserve",
     .group = kGpuGroup,
     .help = "memory to leave free, e.g. 1GiB",
     .value = size_value<&Request::reserve_bytes>(),
     .record = {.of_run = false}},
    {.name = "display",
     .group = kGpuGroup,
     .help = "GPU memory that a desktop session uses",
     .default_text = "0",
     .value = size_value<&Request::display_bytes>(),
     .record = {.of_run = false}},
    {.name = "context",
     .group = kGpuGroup,
     .help = "size of CUDA context and libraries, if you know it",
     .default_text = "from GPU and CUDA",
     .value = size_value<&Request::context_bytes>()},
    {.name = "machine",
     .group = kGpuGroup,
     .help = "machine file written by 'plimsoll-calibrate fit'",
     .value = machine(),
     .acts = {of_this_card, "the file is of another GPU"}},
    {.name = "hwdb",
     .group = kGpuGroup,
     .help = "folder with files of GPUs, links and hosts; a file replaces the built-in file with "
             "the same name",
     .value = text_value<&Request::hwdb_directory>("FOLDER", Type::kPath),
     .record = {.of_run = false},
     .axis = SweepAxis::kNone},
};

}  // namespace

std::span<const SettingRow> gpu_settings() { return kGpuRows; }

}  // namespace plimsoll
