#include "estimator/app/validate/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "estimator/app/validate/estimate_cache.h"
#include "estimator/app/validate/gap.h"
#include "estimator/app/validate/measured_request.h"
#include "estimator/app/validate/quantities.h"
#include "estimator/settings/setting_row.h"
#include "estimator/time/collective.h"
#include "graph/base/byte_source.h"
#include "hwdb/measured/ignored_keys.h"
#include "hwdb/releases.h"
#include "hwdb/version.h"

namespace plimsoll {
namespace {

using Reason = tl::unexpected<std::string>;

}  // namespace

struct ModelPredictor::State {
  const Hwdb& hwdb;
  Request base;
  EstimateCache estimates;
  std::map<std::string, std::string> hashes{};  // of models' files, by path

  // Why a model's file is not the one that was measured; empty where it is, or nobody says.
  std::string changed(const MeasuredRun& r, const Request& q) {
    if (r.model_sha256.empty()) return {};
    auto at = hashes.find(q.model);
    if (at == hashes.end()) {
      const auto source = ByteSource::open(q.model, q.limits);
      const auto hash = source ? sha256_of(*source) : Result<std::optional<std::string>>();
      at = hashes.emplace(q.model, hash ? hash->value_or("") : "").first;
    }
    if (at->second == r.model_sha256) return {};
    if (at->second.empty()) return "the record has a hash, but the model is not a file";
    return fmt::format("the model's file is not the one that was measured: its SHA-256 is {}",
                       at->second);
  }

  // Why no run had these versions; empty where one may have.
  std::string unreleased(const Request& q) const {
    const size_t hyphen = std::min(q.framework.rfind('-'), q.framework.size());
    const std::string version = q.framework.substr(std::min(hyphen + 1, q.framework.size()));
    const std::pair<std::string, std::string> kNamed[] = {{q.framework.substr(0, hyphen), version},
                                                          {"cudnn", q.cudnn.value_or("")},
                                                          {"cuda", q.cuda.value_or("")}};
    for (const auto& [product, text] : kNamed) {
      const auto read = parse_version(text);
      const auto fact = read ? find_release(hwdb, product, *read) : Result<ReleaseFact>();
      if (fact && fact->state == ReleaseState::kUnknown)
        return fmt::format("there is no {} {}: newest known is {}", product, read->text(),
                           fact->newest);
    }
    return {};
  }

  // The largest power of two that fits: studies of training double the batch until it does not.
  tl::expected<int64_t, std::string> largest_batch(Request q) {
    constexpr int64_t kMost = int64_t{1} << 16;
    int64_t fits = 0;
    for (int64_t batch = 1; batch <= kMost; batch *= 2) {
      q.batch = batch;
      const auto found = estimates.answer(q);
      if (!found) return Reason(found.error());
      if (!found->fits) break;
      fits = batch;
    }
    return fits;
  }

  // Samples a second at the first batch over those at the second.
  tl::expected<double, std::string> throughput_ratio(Request q,
                                                     const std::array<int64_t, 2>& batches) {
    std::array<double, 2> rates{};
    for (size_t i = 0; i < 2; ++i) {
      q.batch = batches[i];
      const auto found = estimates.answer(q);
      if (!found) return Reason(found.error());
      rates[i] = found->time.samples_per_second;
    }
    if (rates[1] <= 0) return Reason("the step takes no time");
    return rates[0] / rates[1];
  }
};

ModelPredictor::ModelPredictor(const Hwdb& hwdb, Request base)
    : state_(std::make_unique<State>(State{hwdb, std::move(base), EstimateCache(hwdb)})) {}
ModelPredictor::~ModelPredictor() = default;

namespace {

// "throughput_ratio_batch_128_over_64": 128 and 64.
std::optional<std::array<int64_t, 2>> compared_batches(std::string_view quantity) {
  std::array<int64_t, 2> batches{};
  constexpr std::array<std::string_view, 2> kBefore = {"throughput_ratio_batch_", "_over_"};
  for (size_t i = 0; i < 2; ++i) {
    if (!quantity.starts_with(kBefore[i])) return {};
    quantity.remove_prefix(kBefore[i].size());
    const char* end = quantity.data() + quantity.size();
    const auto read = std::from_chars(quantity.data(), end, batches[i]);
    if (read.ec != std::errc() || batches[i] <= 0) return {};
    quantity.remove_prefix(static_cast<size_t>(read.ptr - quantity.data()));
  }
  if (!quantity.empty()) return {};
  return batches;
}

ValidationLine all_reduce_line(const MeasuredRun& r, ValidationLine line, const Hwdb& hwdb) {
  line.quantity = "time_ms";
  line.measured = r.value("time_ms");
  const auto link = hwdb.link(link_of(r));
  if (!r.bytes || !line.measured || !link) {
    line.skipped = "the record lacks bytes or time of the all-reduce";
    return line;
  }
  const int64_t gpus = std::max<int64_t>(1, r.n_gpus.value_or(1));
  const LinkPoint& point = link->point(gpus);
  const LinkRates rates{.bandwidth = point.bus_bandwidth.value, .latency = point.latency.value};
  const auto bytes = static_cast<double>(*r.bytes);
  line.predicted = collective_seconds(CollectiveKind::kAllReduce, bytes, gpus, rates) * 1e3;
  if (const auto errors = open_step_errors(hwdb)) {
    line.low = *line.predicted * std::exp(-errors->all_reduce);
    line.high = *line.predicted * std::exp(errors->all_reduce);
  }
  return line;
}

// Stands in where the GPU plays no part: every framework and library knows it.
constexpr const char* kAnyCard = "gtx-titan-x";

bool names_card(const MeasuredRun& r) {
  return !r.device.empty() && r.device != "unknown" && r.device != "host";
}

// A note that is called like a setting: with it the run is another one than the rest says.
std::string_view setting_without_key(const MeasuredRun& r) {
  const auto all = settings();
  for (const JsonMember& note : r.notes) {
    const bool known =
        std::ranges::find(ignored_keys(), note.key, &IgnoredKey::name) != ignored_keys().end();
    // Words for a key that is read, as "nodes": "single", are a note too.
    const bool is_setting = std::ranges::any_of(all, [&](const SettingRow& row) {
      return underscored(row.name) == note.key && row.record.name != note.key;
    });
    if (is_setting && !known && !note.value.is_null()) return note.key;
  }
  return {};
}

// Why a run is no measure of the model, whatever the model says; empty where it is one.
std::string unusable(const MeasuredRun& r, bool of_card = true) {
  if (of_card && !names_card(r)) return "the record names no GPU";
  if (r.doubtful()) return "its source marks it as doubtful: " + r.flags.front();
  const bool plain = r.memory_option.empty() || r.shares_storages() || r.memory_option == "naive" ||
                     r.memory_option.starts_with("optMemory 0");
  if (!plain)
    return fmt::format("the source's program saves memory in a way that is not modelled: {}",
                       r.memory_option);
  const bool data_parallel = r.parallelism.empty() || r.parallelism == "none" ||
                             r.parallelism.find("data") != std::string::npos ||
                             r.parallelism == "nn.DataParallel";
  if (!data_parallel) return fmt::format("parallelism '{}' is not modelled", r.parallelism);
  const std::string_view other = changing_key(r), without_key = setting_without_key(r);
  if (other == "run_failed") return "the run did not finish";
  if (!other.empty()) return fmt::format("key {} is not modelled", other);
  return without_key.empty() ? "" : fmt::format("key {} of records is not read", without_key);
}

// The run with sequences of the length that batches have in the mean; nothing where the record does
// not say how long that is, though they differ.
std::optional<Request> in_the_mean(const MeasuredRun& r, Request request) {
  const bool differ = r.seq_is_maximum.value_or(false);
  const auto tokens = r.value("tokens_per_step_mean");
  if (!tokens) return differ ? std::nullopt : std::optional(std::move(request));
  const double length = *tokens / static_cast<double>(*request.batch);
  request.dims["sequence"] = std::max<int64_t>(1, std::llround(length));
  return request;
}

constexpr std::string_view kLengthsDiffer =
    "sequences differ in length: key tokens_per_step_mean is missing";

StepParts parts_of(const TimeEstimate& t, const MemoryEstimate& m) {
  const auto ms = [](int64_t ns) { return static_cast<double>(ns) / 1e6; };
  return {.evidence = t.evidence,
          .gpu_ms = ms(t.gpu_ns),
          .host_ms = ms(t.host_ns),
          .framework_ms = ms(t.framework_ns),
          .copy_ms = ms(t.input_copy_ns),
          .communication_ms = ms(t.communication_ns),
          .launches = t.dispatches,
          .forward_launches = t.forward_dispatches,
          .parameter_arrays = t.parameter_arrays,
          .parameter_bytes = m.parameter_bytes};
}

}  // namespace

ValidationLine ModelPredictor::ratio_line(const MeasuredRun& r, ValidationLine line,
                                          const std::array<int64_t, 2>& batches) {
  line.quantity = r.quantity;
  line.measured = r.value("value");
  line.skipped = unusable(r);
  if (!line.skipped.empty()) return line;
  auto request = request_of(r, state_->base);
  const auto ratio = request ? state_->throughput_ratio(*request, batches)
                             : tl::expected<double, std::string>(Reason(request.error()));
  if (ratio) {
    line.predicted = *ratio;
  } else {
    line.skipped = ratio.error();
  }
  return line;
}

ValidationLine ModelPredictor::largest_batch_line(const MeasuredRun& r, ValidationLine line) {
  line.quantity = r.quantity;
  line.skipped = unusable(r);
  if (!line.skipped.empty()) return line;
  auto request = request_of(r, state_->base);
  const auto batch = request ? state_->largest_batch(*request)
                             : tl::expected<int64_t, std::string>(Reason(request.error()));
  if (!batch) {
    line.skipped = batch.error();
    return line;
  }
  line.measured = static_cast<double>(*r.batch);
  line.predicted = static_cast<double>(*batch);
  return line;
}

std::vector<ValidationLine> ModelPredictor::answer(const MeasuredRun& r,
                                                   const ValidationLine& blank,
                                                   const Request* asked) {
  if (r.quantity == "largest_batch_that_fits" && r.batch) return {largest_batch_line(r, blank)};
  if (const auto batches = compared_batches(r.quantity)) return {ratio_line(r, blank, *batches)};
  if (r.quantity == "allreduce_time") return {all_reduce_line(r, blank, state_->hwdb)};
  const std::vector<MeasuredQuantity> quantities = quantities_of(r);
  std::vector<ValidationLine> lines(std::max<size_t>(1, quantities.size()), blank);
  const auto skip_all = [&](const std::string& reason) {
    for (ValidationLine& l : lines) l.skipped = reason;
    return lines;
  };
  if (quantities.empty()) {
    lines[0].quantity = r.quantity;
    lines[0].measured = r.value("value");
    return skip_all(no_prediction(r));
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i].quantity = quantities[i].name;
    lines[i].measured = quantities[i].measured;
  }
  const bool of_card = std::ranges::any_of(quantities, &MeasuredQuantity::of_card);
  if (const std::string reason = unusable(r, of_card); !reason.empty()) return skip_all(reason);
  auto request = asked ? *asked : request_of(r, state_->base);
  if (!request) return skip_all(request.error());
  if (const std::string why = state_->changed(r, *request); !why.empty()) return skip_all(why);
  if (const std::string why = state_->unreleased(*request); !why.empty()) return skip_all(why);
  if (!of_card) request->devices = {kAnyCard};
  const bool keeps = r.retains_activations.value_or(false);
  if (keeps && request->recipe.mode == Mode::kInference)
    request->recipe.mode = Mode::kTrainNoUpdate;
  const auto longest = state_->estimates.answer(*request);
  if (!longest) return skip_all(longest.error());
  const auto mean_request = in_the_mean(r, *request);
  const bool same = mean_request && mean_request->dims == request->dims;
  const auto of_mean = same || !mean_request ? longest : state_->estimates.answer(*mean_request);
  if (!of_mean) return skip_all(of_mean.error());
  for (size_t i = 0; i < lines.size(); ++i) {
    if (quantities[i].of_mean && !mean_request) {
      lines[i].skipped = kLengthsDiffer;
      continue;
    }
    const auto& answer = quantities[i].of_mean ? of_mean : longest;
    const auto predicted = quantities[i].predict(*answer);
    if (!predicted) {
      lines[i].skipped = quantities[i].missing;
      continue;
    }
    lines[i].predicted = predicted;
    if (of_card) lines[i].fits = longest->fits;
    if (lines[i].quantity == "total_ms") {
      lines[i].parts = parts_of(answer->time, answer->memory);
      if (request->gpu_count == 1)
        lines[i].roofline = static_cast<double>(answer->time.roofline_ns) / 1e6;
    }
    if (const auto range = quantities[i].range(*answer)) {
      lines[i].low = range->first;
      lines[i].high = range->second;
    }
  }
  // Where the meter counts tensors alone, nothing is around them.
  if (r.meter != "tensors") find_gaps(lines, *longest);
  return lines;
}

}  // namespace plimsoll
