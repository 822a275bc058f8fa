#include "calibrate/measured.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "estimator/time/recurrent_algorithm.h"

namespace plimsoll {
namespace {

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = line.find(separator);
    parts.push_back(line.substr(0, at));
    if (at == std::string_view::npos) return parts;
    line.remove_prefix(at + 1);
  }
}

// One line with its columns by name; faults are remembered, the first is told.
class Row {
 public:
  Row(const std::map<std::string_view, size_t>& columns, std::vector<std::string_view> values)
      : columns_(columns), values_(std::move(values)) {}

  std::string_view text(std::string_view column) {
    const auto found = columns_.find(column);
    if (found == columns_.end() || found->second >= values_.size()) {
      if (fault_.empty()) fault_ = fmt::format("no column '{}'", column);
      return {};
    }
    return values_[found->second];
  }
  double real(std::string_view column) {
    const std::string_view word = text(column);
    double value = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (code != std::errc() || end != word.data() + word.size()) {
      if (fault_.empty()) fault_ = fmt::format("'{}' is no number for '{}'", word, column);
    }
    return value;
  }
  int64_t whole(std::string_view column) {
    const double value = real(column);
    if (!(value >= 0 && value < 1e12)) {
      if (fault_.empty()) fault_ = fmt::format("'{}' is out of range", column);
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

Pass pass_of(Row& row) {
  const std::string_view word = row.text("pass");
  for (const Pass pass :
       {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights, Pass::kBackward}) {
    if (name(pass) == word) return pass;
  }
  row.set_fault(fmt::format("'{}' is no pass", word));
  return Pass::kForward;
}

// FNV-1a: the same on every machine and for every card that ran the problem.
uint32_t hash_of(std::string_view text) {
  uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash ^ hash >> 15;
}

void set_traffic(KernelAt& k, double read, double written, double flop) {
  k.read = static_cast<int64_t>(read);
  k.written = static_cast<int64_t>(written);
  k.flop = static_cast<int64_t>(flop);
}

void read_gemm(Row& row, MeasuredKernel& out, double bytes) {
  GemmProblem<int64_t> p{.m = row.whole("m"),
                         .n = row.whole("n"),
                         .k = row.whole("k"),
                         .batch = row.whole("batch"),
                         .a_t = row.whole("a_t") == 1,
                         .b_t = row.whole("b_t") == 1,
                         .accumulate = row.whole("accumulate") == 1};
  const double m = double(p.m), n = double(p.n), k = double(p.k), b = double(p.batch);
  out.kernel.kernel_class = KernelClass::kGemm;
  out.kernel.op = "MatMul";
  set_traffic(out.kernel, b * bytes * (m * k + k * n + (p.accumulate ? m * n : 0)),
              b * bytes * m * n, 2 * b * m * n * k);
  out.shape = hash_of(fmt::format("{},{},{},{},{},{}", p.batch, p.m, p.n, p.k, p.a_t, p.b_t));
  out.library = static_cast<int>(row.whole("cublas"));
  out.kernel.problem = p;
}

void read_conv(Row& row, MeasuredKernel& out, double bytes) {
  ConvProblem<int64_t> p{.n = row.whole("n"),
                         .c = row.whole("c"),
                         .k = row.whole("k"),
                         .groups = row.whole("groups"),
                         .in = {1, row.whole("h"), row.whole("w")},
                         .filter = {1, row.whole("r"), row.whole("s")},
                         .pad = {0, row.whole("pad_h"), row.whole("pad_w")},
                         .stride = {1, row.whole("stride_h"), row.whole("stride_w")},
                         .channels_last = row.text("layout") == "nhwc"};
  for (size_t d = 1; d < 3; ++d) {
    if (p.stride[d] < 1) return row.set_fault("a stride of 0");
    p.out[d] = (p.in[d] + 2 * p.pad[d] - p.filter[d]) / p.stride[d] + 1;
  }
  if (p.groups < 1) return row.set_fault("no groups");
  const double x = double(p.n * p.c) * double(p.in[1] * p.in[2]);
  const double y = double(p.n * p.k) * double(p.out[1] * p.out[2]);
  const int64_t filters = p.k * p.c / p.groups;
  const double w = double(filters) * double(p.filter[1] * p.filter[2]);
  out.kernel.kernel_class = KernelClass::kConv;
  out.kernel.op = "Conv";
  out.kernel.pass = pass_of(row);
  const double written = out.kernel.pass == Pass::kForward        ? y
                         : out.kernel.pass == Pass::kBackwardData ? x
                                                                  : w;
  set_traffic(out.kernel, bytes * (x + y + w - written), bytes * written, 2 * y * w / double(p.k));
  out.shape =
      hash_of(fmt::format("{},{},{},{},{},{},{},{},{},{},{}", p.n, p.c, p.k, p.groups, p.in[1],
                          p.in[2], p.filter[1], p.filter[2], p.pad[1], p.stride[1], p.stride[2]));
  out.library = static_cast<int>(row.whole("cudnn"));
  out.algorithm = row.text("algorithm");
  out.channels_first = row.text("layout") == "nchw";
  out.kernel.problem = p;
}

void read_recurrent(Row& row, MeasuredKernel& out, double bytes) {
  const std::string_view cell = row.text("cell");
  RecurrentProblem<int64_t> p{.cell = cell == "lstm"  ? Cell::kLstm
                                      : cell == "gru" ? Cell::kGru
                                                      : Cell::kRnnRelu,
                              .input = row.whole("hidden"),
                              .hidden = row.whole("hidden"),
                              .batch = row.whole("batch"),
                              .timesteps = row.whole("timesteps"),
                              .skip_input = true};
  const double states = double(p.batch * p.timesteps) * double(p.hidden);
  const double weights = double(p.hidden) * double(p.hidden);
  out.kernel.kernel_class = KernelClass::kRecurrent;
  out.kernel.op = "recurrent";
  out.kernel.pass = pass_of(row);
  set_traffic(out.kernel, bytes * (states + weights), bytes * states,
              2 * states * double(p.hidden));
  out.shape = hash_of(fmt::format("{},{},{},{}", cell, p.hidden, p.batch, p.timesteps));
  out.library = static_cast<int>(row.whole("cudnn"));
  out.algorithm = row.text("algorithm");
  if (!recurrent_algorithm_from_name(out.algorithm)) {
    row.set_fault(fmt::format("'{}' is no algorithm of recurrent layers", out.algorithm));
  }
  out.kernel.problem = p;
}

void read_rows(Row& row, MeasuredKernel& out, double bytes) {
  RowsProblem<int64_t> p{.rows = row.whole("rows"), .columns = row.whole("columns")};
  KernelAt& k = out.kernel;
  k.op = row.text("op");
  k.kernel_class = k.op == "layer_norm" ? KernelClass::kNorm
                   : k.op == "softmax"  ? KernelClass::kSoftmax
                                        : KernelClass::kPointwise;
  k.pass = row.text("pass") == "forward" ? Pass::kForward : Pass::kBackward;
  const double tensor = bytes * double(p.rows) * double(p.columns);
  set_traffic(k, (row.real("tensors") - 1) * tensor, tensor, tensor / bytes);
  out.shape = hash_of(fmt::format("{},{},{}", k.op, p.rows, p.columns));
  out.library = static_cast<int>(row.whole("cudnn"));
  out.host_bound = row.whole("host_bound") == 1;
  k.problem = p;
}

DType dtype_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::kF16:
    case Arithmetic::kF16Tensor:
      return DType::kFloat16;
    case Arithmetic::kBf16:
    case Arithmetic::kBf16Tensor:
      return DType::kBFloat16;
    default:
      return DType::kFloat32;
  }
}

MeasuredKernel read_row(Row& row, std::string_view kernel_class) {
  MeasuredKernel out;
  out.source = row.text("source");
  out.device = row.text("device");
  const std::string_view unit = row.text("arithmetic");
  const auto arithmetic = arithmetic_from_name(unit);
  if (!arithmetic) row.set_fault(fmt::format("'{}' is no arithmetic", unit));
  out.arithmetic = arithmetic.value_or(Arithmetic::kF32);
  out.kernel.dtype = dtype_of(out.arithmetic);
  out.kernel.tensor_core = on_tensor_cores(out.arithmetic);
  out.seconds = row.real("time_ms") * 1e-3;
  const double bytes = element_bytes(out);
  if (kernel_class == "gemm") read_gemm(row, out, bytes);
  if (kernel_class == "conv") read_conv(row, out, bytes);
  if (kernel_class == "recurrent") read_recurrent(row, out, bytes);
  if (kernel_class == "rows") read_rows(row, out, bytes);
  if (kernel_class == "gemm" || kernel_class == "conv") {
    out.host_bound = row.whole("host_bound") == 1;
  }
  if (!(out.seconds > 0)) row.set_fault("a time that is not positive");
  return out;
}

}  // namespace

double element_bytes(const MeasuredKernel& kernel) { return bits(kernel.kernel.dtype) / 8.0; }

Result<std::vector<MeasuredKernel>> read_measured(std::string_view text, std::string_view file,
                                                  std::string_view kernel_class) {
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
    kernels.push_back(read_row(row, kernel_class));
    if (!row.fault().empty()) {
      return error("E501", row.fault(), {.file = std::string(file), .line = number, .node = {}},
                   "the columns are described at the head of the shipped transcriptions");
    }
  }
  return kernels;
}

}  // namespace plimsoll
