// Measured runs: what users measured, in JSON or CSV, as flat records whose members are the keys of
// the file. What is predicted is checked against them, and calibrations are fitted to them.
//
//   {"source": {"title": "..."}, "kind": "model", "records": [
//     {"device": "quadro-p4000", "model": "resnet50", "batch": 32, "mode": "train",
//      "framework": "pytorch", "framework_version": "1.4", "total_ms": 301.2}]}
//
// JSON lines are records alone, each with its "kind". The CSV form has the same keys as columns,
// and "kind" as one of them; a list is written 3x224x224. A key that is not a member below is a
// note: it is kept and means nothing.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/json/value.h"

namespace plimsoll {

// kWorkspace is a library's answers, not a measurement: its runs are counted and hold nothing.
enum class RunKind : uint8_t { kKernel, kLayer, kModel, kScaling, kMemory, kWorkspace };
inline constexpr std::array<std::string_view, 6> kRunKinds = {"kernel",  "layer",  "model",
                                                              "scaling", "memory", "workspace"};
inline std::string_view name(RunKind kind) { return kRunKinds[static_cast<size_t>(kind)]; }

// "total_ms" 301.2: the name carries the unit.
struct Measurement {
  std::string name;
  double value = 0;
};

struct MeasuredRun {
  size_t index = 0;  // in its file, from 0
  int line = 0;      // where the record begins
  RunKind kind = RunKind::kModel;

  // Environment.
  std::string device, framework, framework_version, cudnn, cuda, library, conv_library;
  std::string dtype;
  std::string mixed_precision;  // of sharded weights and their exchange, in a trainer's words
  std::optional<bool> device_inferred;

  // Kernel and layer.
  std::string op, pass, variant, algo, kernel;
  std::optional<int64_t> n, c, h, w, k, r, s, pad_h, pad_w, stride_h, stride_w, dil_h, dil_w, group;
  std::optional<int64_t> m, batch_count;
  std::optional<bool> a_t, b_t;    // transposed
  std::optional<bool> accumulate;  // the product is added to what was there
  std::string cell, input_mode;
  std::optional<int64_t> hidden, timesteps, layers, input_size, directions;
  std::vector<int64_t> hidden_widths;  // where "hidden" is a list
  std::string form;                    // of attention: which kernel
  std::optional<int64_t> vocab;        // of a model, with its hidden, layers and heads
  std::optional<int64_t> heads, kv_heads, queries, keys, head_size, value_size;
  std::optional<bool> causal, masked;
  std::optional<bool> count_padding;  // in the mean of a pool's window
  std::string function;
  std::optional<int64_t> rows, cols, tensors_moved;
  std::optional<int64_t> read_bytes, written_bytes, flop;  // of a kernel, once each
  std::string net, layer, layer_type, conv_engine;
  std::optional<bool> inplace;
  std::vector<int64_t> out, tensor;  // extents: of a layer's output; of what it works on

  // Model, scaling, memory.
  std::string model, mode, optimizer, architecture;
  std::string model_sha256;  // of the model's file, where the record says
  std::string network;  // the MODEL that a source's word `model` means, where the word says less
  std::optional<int64_t> batch;                  // of the whole run, per update
  std::optional<int64_t> micro_batch;            // samples of a GPU in one forward-backward pass
  std::optional<int64_t> accumulation;           // passes per update
  std::string finetune, lora_targets, quantize;  // as the settings of these names
  std::optional<int64_t> lora_rank, lora_alpha;
  std::optional<bool> adapter_fp32;  // adapters are in 32 bits, whatever the model is in
  // As the settings of these names.
  std::string trainer, kbit_prepare, bitsandbytes, quantizer, lora_form;
  std::string loss_form, loss_shift, widen_outputs;
  std::optional<bool> keep_outputs, last_outputs;
  std::string checkpoint;             // "none", "full": which feature maps are computed again
  std::optional<bool> use_reentrant;  // as the setting of its name
  // Buffers were made for this batch at least: a net file of Caffe names one, and blobs never
  // shrink (src/caffe/blob.cpp, Reshape).
  std::optional<int64_t> least_batch;
  std::string dataset;
  std::optional<int64_t> samples;  // of a data set that lies in the host's memory
  std::optional<int64_t> batch_per_gpu, n_gpus, nodes;
  std::string link;       // id of the link between the GPUs
  std::string node_link;  // ... between machines; empty: `link` joins those of all machines
  std::string parallel;   // "fsdp=8,tp=2": as the setting of its name
  std::optional<int64_t> zero_stage, zero_group;  // what is sharded, between how many ranks
  std::optional<int64_t> fsdp_version;
  std::string schedule;  // of a pipeline's micro-batches
  std::string offload;   // what the host's memory has: "parameters,optimizer"
  std::optional<bool> sequence_parallel, tp_overlap, no_sync,
      lora_in_blocks;          // as the settings of these names
  std::string memory_option;   // a switch of the source's own program that saves memory
  std::string optimisation;    // "before", "after": a source's own program saved memory
  std::vector<int64_t> input;  // [C, H, W] or [features]
  std::string input_text;      // where the input is words: "timm default"
  std::vector<int64_t> linear_widths;
  std::optional<int64_t> output;
  std::string activation;
  std::optional<bool> batchnorm, has_dropout, recompute;
  std::optional<double> dropout;  // where it is given as a number
  std::string variable_update, parallelism, algorithm;
  std::optional<int64_t> bytes;

  // What the timer and the meter held, where the record or its source says (measured/source.h).
  std::string loss;                        // as --loss
  std::string layout;                      // as --layout
  std::string host;                        // id of the machine around the GPU
  std::string cpu;                         // its processor, as hosts' aliases name it
  std::optional<int64_t> workers;          // as --workers: a loader is in the time
  std::string loader;                      // as --loader
  std::string sequence;                    // the model's symbol that a one-number input sets
  std::optional<int64_t> sequence_length;  // "seq", or "sequence" as a number: tokens of each
  std::optional<bool> seq_is_maximum;      // most sequences are shorter than that
  std::optional<int64_t> resolution;       // height and width of images
  std::string meter;                       // "process", "tensors", "saved", "card", "every_step"
  std::optional<bool> cudnn_benchmark;     // algorithms were tried out
  std::optional<bool> input_gradient;      // the first layer's data gradient was computed
  std::optional<bool> input_copy;          // the batch was copied inside the timer
  std::optional<bool> batch_statistics;    // of batch norms, in a forward pass alone too
  std::optional<bool> weight_decay;        // the optimizer decayed weights
  std::optional<bool> compiled;            // as --compile
  std::optional<bool> cuda_graphs;         // as --cuda-graphs
  std::string attention;                   // as --attention
  std::string zero_grad;                   // as --zero-grad
  std::optional<bool> half_norms;          // as --half-norms
  std::string exchange;                    // as --exchange
  std::string module_loading;              // as --module-loading
  std::string allocator;                   // as --allocator
  std::string cudnn_rnn;                   // "Yes", "No": recurrent layers were the library's
  std::optional<int64_t> prefetch;         // batches on the device beside the one in use
  std::optional<bool> own_size;            // images had the model's own size, whatever `input` says
  std::optional<bool> retains_activations;  // inference that kept what a backward would need

  // What was measured. A fact has a `quantity` and, mostly, a measurement called "value".
  std::string quantity, unit, result;
  std::string memory_counter;              // whose figure peak_memory_* is, in words
  std::optional<bool> out_of_memory, ran;  // a fact: the run did not fit; it ended
  std::vector<Measurement> measured;       // in the file's order
  std::optional<bool> time_is_derived;
  std::vector<std::string> flags;

  std::vector<JsonMember> notes;  // the rest, as it stood

  // The measurement of a name, where there is one.
  std::optional<double> value(std::string_view measurement) const;
  bool has_flag(std::string_view prefix) const;
  // Whether optnet let Torch7's modules share their storages.
  bool shares_storages() const;
  // Whether it ended out of memory: what it measured before is of its beginning alone.
  bool ended_out_of_memory() const;
  // Whether the source itself warns: "suspect_*", "near_capacity*", ... Not for fitting.
  bool doubtful() const;
  // "pytorch-1.13.1", "tensorflow-1.3.0" of names as sources write them ("tf 1.3.0rc1",
  // "Keras(TF)", "1.4 per README"); empty where no framework is named.
  std::string framework_id() const;
};

}  // namespace plimsoll
