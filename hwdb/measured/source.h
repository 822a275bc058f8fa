// What the sources of measured runs say once for all of their records: what the timer held, what
// the memory figure means, which framework and machine it was. From hwdb/sources.json:
//
//   {"schema": "plimsoll.sources", "version": 1, "sources": [
//     {"source": "jcjohnson/cnn-benchmarks", "says": "no loss, ... ",
//      "networks": [{"model": "alexnet", "framework": "caffe", "network": "alexnet-bvlc"}],
//      "cases": [{"framework": "caffe2", "model": "alexnet", "says": "without cuDNN",
//                 "defaults": {"conv_library": "im2col"}}],
//      "defaults": {"loss": "none", "cudnn_benchmark": true}}]}
//
// `defaults` has the keys of a record (measured/run.h). What a record itself says wins. `networks`
// says which network a name means there, with any framework or one or one version of it; `repeats`
// which keys say again what others do; `precisions` which precision the word of a trainer means;
// `quantizations` which form a source's word for one does; `checkpoints` what a word for what is
// computed again does; `datasets` how many samples a data set has that the program holds in the
// host's memory; `cases` what holds for some of the records only: those of a framework, model,
// device, mode, dtype, optimisation or way of fine-tuning, on several machines or GPUs or on one,
// or with one of `words` under `key`, which the case says in other keys then.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hwdb/hwdb.h"
#include "hwdb/measured/reader.h"
#include "hwdb/measured/run.h"

namespace plimsoll {

struct NamedNetwork {
  std::string model, framework;  // framework empty: any
  std::string version;           // what the framework's version begins with; empty: any
  std::string network;
  std::optional<int64_t> least_batch;  // of the net file, see MeasuredRun
};

// The precision's row that a word means there, with FSDP's own setting or any.
struct NamedPrecision {
  std::string dtype, mixed;  // mixed empty: any
  std::string prepared;      // as the run has kbit_prepare; empty: any
  std::string precision;
};

// The form in which frozen weights are stored that a word means there, of a model or any.
struct NamedQuantization {
  std::string quantize, model;  // model empty: any
  std::string means;
};

// What is computed again, where a word of the source stands for a program's own choice.
struct NamedCheckpoint {
  std::string checkpoint, means;
};

struct NamedDataset {
  std::string dataset;
  int64_t samples = 0;
};

// Each word empty, each flag absent: any.
struct MeasuredCase {
  std::string framework, version;  // what the framework's version begins with
  std::string model;               // "timm/*convnext*"
  std::string device, mode, dtype, optimisation, finetune;
  std::optional<bool> several_nodes, several_gpus;
  std::optional<int64_t> gpus;  // in all
  std::string key;              // whose word is one of
  std::vector<std::string> words;
  MeasuredRun defaults;

  bool holds(const MeasuredRun& run) const;
};

struct MeasuredSource {
  std::string source;  // the repository of a measured file, or the beginning of its title
  std::string says;    // in words, with where it says so
  std::vector<NamedNetwork> networks;
  std::vector<NamedPrecision> precisions;
  std::vector<NamedQuantization> quantizations;
  std::vector<NamedCheckpoint> checkpoints;
  std::vector<std::string> repeats;  // keys that say in words what others of a record say
  std::vector<NamedDataset> datasets;
  std::vector<MeasuredCase> cases;  // the first that holds and says a thing wins
  MeasuredRun defaults;

  // Gives a record of this source what it does not say.
  void complete(MeasuredRun& run) const;
};

// E3xx for a file that is not of this form.
Result<std::vector<MeasuredSource>> read_sources(std::string_view text, std::string_view file);

class MeasuredSources {
 public:
  // The database's; its folder's file wins as for devices. `machines`: with what it tells of the
  // machines (hosts, contexts measured on them), which nobody else's run would have.
  static Result<MeasuredSources> open(const Hwdb& hwdb, bool machines);
  // Of a file's repository or title; null where nothing is known of it.
  const MeasuredSource* find(const RunFile& file) const;

 private:
  std::vector<MeasuredSource> sources_;
};

// Calls `each` with every record of a file, completed by what its source says, once all of them are
// found sound: the file is read twice, and no more than one record of a CSV file is held. Codes of
// read_measured, whose warnings go to `warnings`, where it is not null.
Result<void> read_runs(const std::string& path, const MeasuredSources& sources,
                       const std::function<void(MeasuredRun&&)>& each, const Limits& limits = {},
                       Diagnostics* warnings = nullptr);

}  // namespace plimsoll
