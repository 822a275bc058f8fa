#include "calibrate/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "estimator/kernels/recurrent_algorithm.h"
#include "graph/base/text.h"
#include "hwdb/measured/kernel.h"

namespace plimsoll {
namespace {

// One line with its columns by name; faults are remembered, the first is told.
class Row {
 public:
  Row(const std::map<std::string_view, size_t>& columns, std::vector<std::string_view> values)
      : columns_(columns), values_(std::move(values)) {}

  std::string_view text(std::string_view column) {
    const auto found = columns_.find(column);
    if (found == columns_.end() || found->second >= values_.size()) {
      set_fault(fmt::format("no column '{}'", column));
      return {};
    }
    return values_[found->second];
  }
  double real(std::string_view column) {
    const std::string_view word = text(column);
    const auto value = parse_number<double>(word);
    if (!value) set_fault(fmt::format("'{}' is no number for '{}'", word, column));
    return value.value_or(0);
  }
  int64_t whole(std::string_view column) {
    const double value = real(column);
    if (!(value >= 0 && value < 1e12)) {
      set_fault(fmt::format("'{}' is out of range", column));
      return 1;
    }
    return static_cast<int64_t>(value);
  }
  const std::string& fault() const { return fault_; }
  void set_fault(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
  }

 private:
  const std::map<std::string_view, size_t>& columns_;
  std::vector<std::string_view> values_;
  std::string fault_;
};

// FNV-1a: the same on every machine and for every card that ran the problem.
uint32_t hash_of(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash ^ hash >> 15;
}

// What each file's columns mean in a record's keys; the shape's words are hashed.
std::string read_gemm(Row& row, MeasuredRun& run) {
  run.op = "gemm";
  run.variant = "linear";  // row-major as it stands
  run.pass = "forward";
  run.batch_count = row.whole("batch");
  run.m = row.whole("m");
  run.n = row.whole("n");
  run.k = row.whole("k");
  run.a_t = row.whole("a_t") == 1;
  run.b_t = row.whole("b_t") == 1;
  run.accumulate = row.whole("accumulate") == 1;
  return fmt::format("{},{},{},{},{},{}", *run.batch_count, *run.m, *run.n, *run.k, *run.a_t,
                     *run.b_t);
}

std::string read_conv(Row& row, MeasuredRun& run) {
  run.op = "conv";
  run.pass = row.text("pass");
  run.layout = row.text("layout");
  run.n = row.whole("n");
  run.c = row.whole("c");
  run.h = row.whole("h");
  run.w = row.whole("w");
  run.k = row.whole("k");
  run.r = row.whole("r");
  run.s = row.whole("s");
  run.pad_h = row.whole("pad_h");
  run.pad_w = row.whole("pad_w");
  run.stride_h = row.whole("stride_h");
  run.stride_w = row.whole("stride_w");
  run.group = row.whole("groups");
  if (*run.stride_h < 1 || *run.stride_w < 1) row.set_fault("a stride of 0");
  if (*run.group < 1) row.set_fault("no groups");
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{}", *run.n, *run.c, *run.k, *run.group, *run.h,
                     *run.w, *run.r, *run.s, *run.pad_h, *run.stride_h, *run.stride_w);
}

std::string read_recurrent(Row& row, MeasuredRun& run) {
  run.op = "rnn";
  run.pass = row.text("pass");
  run.cell = row.text("cell");
  run.hidden = row.whole("hidden");
  run.batch = row.whole("batch");
  run.timesteps = row.whole("timesteps");
  run.input_mode = "skip";
  if (const auto algorithm = row.text("algorithm"); !recurrent_algorithm_from_name(algorithm))
    row.set_fault(fmt::format("'{}' is no algorithm of recurrent layers", algorithm));
  return fmt::format("{},{},{},{}", run.cell, *run.hidden, *run.batch, *run.timesteps);
}

std::string read_rows(Row& row, MeasuredRun& run) {
  run.function = row.text("op");
  run.op = run.function == "layer_norm" ? "layernorm"
           : run.function == "softmax"  ? "softmax"
                                        : "elementwise";
  run.pass = row.text("pass");
  run.rows = row.whole("rows");
  run.cols = row.whole("columns");
  run.tensors_moved = row.whole("tensors");
  return fmt::format("{},{},{}", run.function, *run.rows, *run.cols);
}

struct FileRow {
  std::string_view name, library;
  std::string (*read)(Row&, MeasuredRun&);
  bool names_algorithm = false, says_host_bound = false;
};
constexpr FileRow kFiles[] = {
    {.name = "gemm", .library = "cublas", .read = read_gemm, .says_host_bound = true},
    {.name = "conv",
     .library = "cudnn",
     .read = read_conv,
     .names_algorithm = true,
     .says_host_bound = true},
    {.name = "recurrent", .library = "cudnn", .read = read_recurrent, .names_algorithm = true},
    {.name = "rows", .library = "cudnn", .read = read_rows, .says_host_bound = true},
};

// The arithmetic that the files name, as records call it.
struct ArithmeticWord {
  Arithmetic arithmetic;
  std::string_view dtype;
};
constexpr ArithmeticWord kArithmetic[] = {
    {Arithmetic::kF32, "fp32"},
    {Arithmetic::kF64, "fp64"},
    {Arithmetic::kF16, "fp16"},
    {Arithmetic::kTf32Tensor, "tf32"},
    {Arithmetic::kF16Tensor, "fp16_mixed_tensor_core"},
    {Arithmetic::kBf16Tensor, "bf16"},
};

void read_arithmetic(Row& row, MeasuredKernel& out, MeasuredRun& run) {
  const std::string_view word = row.text("arithmetic");
  for (const ArithmeticWord& known : kArithmetic) {
    if (name(known.arithmetic) != word) continue;
    out.arithmetic = known.arithmetic;
    run.dtype = known.dtype;
    return;
  }
  row.set_fault(fmt::format("'{}' is no arithmetic of measured kernels", word));
}

MeasuredKernel read_row(Row& row, const FileRow& file) {
  MeasuredKernel out;
  out.source = row.text("source");
  out.device = row.text("device");
  out.seconds = row.real("time_ms") * 1e-3;
  MeasuredRun run;
  read_arithmetic(row, out, run);
  out.shape = hash_of(file.read(row, run));
  auto kernel = kernel_of(run);
  if (!kernel) {
    row.set_fault(kernel.error());
    return out;
  }
  out.kernel = std::move(*kernel);
  out.library = static_cast<int>(row.whole(file.library));
  if (file.names_algorithm) out.algorithm = row.text("algorithm");
  if (file.says_host_bound) out.host_bound = row.whole("host_bound") == 1;
  out.channels_first = run.layout == "nchw";
  if (!(out.seconds > 0)) row.set_fault("a time that is not positive");
  return out;
}

}  // namespace

Result<std::vector<MeasuredKernel>> read_measured(std::string_view text, std::string_view file,
                                                  std::string_view kernel_class) {
  const auto* of = std::ranges::find(kFiles, kernel_class, &FileRow::name);
  if (of == std::end(kFiles))
    return error("E501", "there are no shipped measurements of this class of kernels");
  std::map<std::string_view, size_t> columns;
  std::vector<MeasuredKernel> kernels;
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const auto words = split(line, ',');
    if (columns.empty()) {
      for (size_t i = 0; i < words.size(); ++i) columns[words[i]] = i;
      continue;
    }
    Row row(columns, words);
    kernels.push_back(read_row(row, *of));
    if (!row.fault().empty()) {
      return error("E501", row.fault(), {.file = std::string(file), .line = number, .node = {}},
                   "the columns are described at the head of the shipped transcriptions");
    }
  }
  return kernels;
}

}  // namespace plimsoll
