// Host: what the machine around the GPU adds to a step, from one file hwdb/hosts/ID.json. These
// terms belong to a machine together with a framework, not to the GPU. What was fitted on a machine
// is in its file; of others a file says how fast one thread is, and the rest is a reference
// machine's time over that speed.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/units.h"
#include "hwdb/device.h"
#include "hwdb/figure_note.h"
#include "hwdb/version.h"

namespace plimsoll {

// One framework's cost per step on this host:
//   step = larger of (gpu_factor * gpu, per_launch * launches) + per_step + per_array * arrays
// where "larger of" is smooth (estimator/time/step_time.h), and per_forward stands for per_step and
// arrays where there is no backward pass.

// How samples get from the data set into a batch.
enum class LoaderKind : uint8_t {
  kNone,       // batches lie on the device, or nothing is known of it
  kMemory,     // tensors in memory, collated
  kConvert,    // images in memory, made tensors
  kTransform,  // ... and normalised
  kFiles,      // read and decoded on the host, which takes nobody knows how long
};
inline constexpr std::array<std::string_view, 5> kLoaders = {"none", "memory", "convert",
                                                             "transform", "files"};
std::string_view name(LoaderKind kind);  // as in kLoaders

// Of one sample, in one thread of the reference machine.
struct Loader {
  Seconds memory, convert, transform;
  bool beside = false;  // threads of the framework load while the step runs

  Seconds per_sample(LoaderKind kind) const;  // 0 where it is not known
};

struct Dispatch {
  std::string framework;
  Version since;
  Seconds per_launch;
  // Where there is no backward pass for which operators keep what they need; else as per_launch.
  std::optional<Seconds> per_forward_launch;
  // Of one operator of an unrolled recurrent layer, where each is counted; else as per_launch.
  std::optional<Seconds> per_operator;
  Seconds per_step;     // copies, synchronisation, Python around the step
  Seconds per_forward;  // ... around a forward pass alone
  Seconds per_array;    // per parameter array: key-value stores
  // The way of a batch to the device where it is slower than the copy: loaders, copies on the host;
  // 0: the host's pageable_copy or pinned_copy.
  BytesPerSecond input_path;
  Seconds per_replica;  // per array and module and GPU, where one process feeds several
  double gpu_factor = 1;
  std::optional<Loader> loader;  // nothing: not known
  // Of the reference machine, Skylake-SP at 3.7 GHz: another takes this over its single_thread.
  bool reference = false;
};

// Stands for a machine of which nothing is known.
inline constexpr std::string_view kUnknownHost = "generic";

// In which its cards for servers came (NVIDIA): K80, M40, P100, V100, T4, A100, H100 and L4, B200.
int64_t release_year(const ComputeCapability& of);

struct Host {
  std::string id;
  std::vector<std::string> aliases;
  std::string name;
  BytesPerSecond pageable_copy, pinned_copy;  // host to device
  BytesPerSecond gradient_sum;  // of gradients of several GPUs that all its threads add
  BytesPerSecond messages;      // of an all-reduce among processes in its memory
  // Of one thread, the reference machine's being 1; nothing: as old as the card (speed()).
  std::optional<double> single_thread;
  int64_t cores = 0;    // 0: not known
  Bytes memory;         // of the machine itself; 0: not known
  int64_t year = 0;     // of the machine; of the unknown host: when machines were as the reference
  double per_year = 1;  // by which single threads got faster
  std::vector<Dispatch> dispatch;
  std::vector<FigureNote> figures;
  Diagnostics warnings;

  // The newest row of a framework that is not newer than `version`, its oldest where all are newer;
  // null for a framework that nobody knows.
  const Dispatch* find(std::string_view framework, const Version& version) const;
  // Of one thread, beside a card of the year: machines are bought with their cards.
  double speed(int64_t card_year) const;
  // Frameworks that it was not seen with, loaders and what else its file does not say, as on the
  // unknown host.
  void complete(const Host& unknown);
};

// E3xx and E4xx as read_device.
Result<Host> read_host(std::string_view text, std::string_view file, std::string_view stem);

// What a host file may hold, of no values: for its schema.
void describe_host_file(Fields& f);

}  // namespace plimsoll
