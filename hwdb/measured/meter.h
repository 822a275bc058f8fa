// Files that meters wrote of a run which some other file describes: PyTorch's memory snapshot and
// summary, CSV of nvidia-smi, of nsys stats and of nvprof. Each gives the figures that validate()
// compares.
//
//   snapshot    torch.cuda.memory._snapshot() as JSON: peak_allocated_mb and peak_reserved_mb, read
//               back from the last state through the history of allocations, where it was recorded
//   summary     torch.cuda.memory_summary(): the same two, of its column "Peak Usage"
//   nvidia-smi  --query-compute-apps=pid,used_gpu_memory --format=csv: nvidia_smi_mb of one
//   process,
//               or --query-gpu=memory.used: device_used_mb of one card; the largest of its samples
//   nsys        nsys stats --report cuda_gpu_kern_sum --format csv: gpu_ms, the time of all kernels
//               over the number of steps
//   nvprof      nvprof --csv --print-gpu-summary: kernel_share_pct of each kernel in the time of
//               all, by its name without scope and arguments; with the number of steps gpu_ms
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/byte_source.h"
#include "graph/base/diagnostic.h"
#include "graph/base/limits.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

enum class MeterForm : uint8_t { kSnapshot, kSummary, kNvidiaSmi, kNsys, kNvprof };
inline constexpr std::array<std::string_view, 5> kMeterForms = {"snapshot", "summary", "nvidia-smi",
                                                                "nsys", "nvprof"};

// Before a kernel's name, the name of what is measured of it: per cent of all kernels' time.
inline constexpr std::string_view kKernelShare = "kernel_share_pct ";

// "void cudnn::detail::bn_fw_tr_1C11_kernel_new<float, 512>(...)": bn_fw_tr_1C11_kernel_new.
std::string_view bare_kernel_name(std::string_view name);

struct MeterReading {
  std::vector<Measurement> measured;
  std::string device;  // as the driver names it, where the file does
  Diagnostics notes;   // N520 for cells without a figure, N521 for a snapshot without a history,
  // N522 for lines that name no card
};

// `steps`: how many training steps the file of nsys holds; E108 where it is needed and missing.
// E530 a pickle, E531 a file that is not of the form, E532 one of several GPUs or processes; E51x
// of its cells, E30x as the JSON reader.
Result<MeterReading> read_meter(const ByteSource& source, MeterForm form,
                                std::optional<int64_t> steps, const Limits& limits = {});

// Of one form each.
Result<MeterReading> read_snapshot(const ByteSource& source, const Limits& limits);
Result<MeterReading> read_meter_csv(const ByteSource& source, MeterForm form,
                                    std::optional<int64_t> steps, const Limits& limits);
Result<MeterReading> read_nvprof(const ByteSource& source, std::optional<int64_t> steps,
                                 const Limits& limits);

}  // namespace plimsoll
