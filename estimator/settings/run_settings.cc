// Several GPUs, the machine around them, and the whole run.
#include <fmt/format.h>

#include <array>

#include "estimator/settings/acts.h"
#include "estimator/settings/record_forms.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"
#include "estimator/time/exchange.h"
#include "graph/base/setting.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

using Type = SettingValue::Type;

// Of one machine, while a request counts those of all (to_request() multiplies).
constexpr SettingValue gpu_count() {
  SettingValue value = count_value<&Request::gpu_count>(1, 65536);
  value.write = [](JsonWriter& out, const Request& from) {
    out.integer(from.gpu_count / from.nodes);
  };
  return value;
}

// Loaders that decode on the card are not among them.
constexpr SettingValue loader() {
  SettingValue value = word_value<kLoaders, 0, &Request::loader>("HOW");
  value.read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
    constexpr SettingValue plain = word_value<kLoaders, 0, &Request::loader>("HOW");
    if (text == "dali" || text == "gpu" || text == "nvjpeg" || text == "ffcv") {
      return error(
          "E106", fmt::format("{} does not take '{}'", setting(row.name), text), {},
          fmt::format("the memory of a loader that decodes on the GPU is not modelled; leave "
                      "room with {}",
                      setting("reserve", "2GiB")));
    }
    return plain.read(row, text, into);
  };
  return value;
}

constexpr SettingValue scheme() {
  return {.type = Type::kWord,
          .placeholder = "SCHEME",
          .words =
              [] {
                std::vector<std::string> names;
                for (const ExchangeScheme& each : exchange_schemes()) names.emplace_back(each.name);
                return names;
              },
          .many = true,
          .read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
            const auto at = TRY(read_word(row, text));
            into.exchange = exchange_schemes()[at].name;
            return {};
          },
          .write = [](JsonWriter& out, const Request& from) { out.string_or_null(from.exchange); }};
}

constexpr VerbRule kOfRun[] = {{"max-batch", kNoRun},
                               {"max-batch --vary", kNoRun},
                               {"validate", kNoRun},
                               {"validate --from", kNoRun}};
constexpr VerbRule kOfHost[] = {{"max-batch", kNoHost},
                                {"max-batch --vary", kNoHost},
                                {"sweep", kNoHost},
                                {"validate", kOfRecords, true}};

constexpr SettingRow kRunRows[] = {
    {.name = "gpus",
     .group = kRunGroup,
     .help = "number of GPUs; estimate also takes a range, 1..N",
     .default_text = "1",
     .value = gpu_count(),
     .record = {.name = "n_gpus", .write = write_gpus, .composed = true},
     .verbs = kInRecords},
    {.name = "link",
     .group = kRunGroup,
     .help = "link between GPUs; see 'plimsoll links'",
     .default_text = "that of the GPU",
     .value = text_value<&Request::link>("ID", Type::kWord),
     .record = {.name = "link", .composed = true},
     .acts = {has_link,
              "each machine has one GPU, which exchanges nothing inside it; {} sets how many",
              "gpus"}},
    {.name = "exchange",
     .group = kRunGroup,
     .help = "how gradients are summed over GPUs: ring, tree, parameter-server, ...",
     .default_text = "the framework's",
     .value = scheme(),
     .record = {.name = "exchange"},
     .acts = {exchanges, "there is one GPU, so nothing is exchanged; {} sets how many", "gpus"}},
    {.name = "nodes",
     .group = kRunGroup,
     .help = "machines; --gpus and --link are then per machine",
     .default_text = "1",
     .value = count_value<&Request::nodes>(1, 65536),
     .record = {.name = "nodes", .write = write_nodes, .composed = true}},
    {.name = "network",
     .group = kRunGroup,
     .help = "network between machines; see 'plimsoll links'",
     .value = text_value<&Request::network>("ID", Type::kWord),
     .record = {.name = "node_link", .composed = true},
     .acts = {has_network, "there is one machine; {} sets how many", "nodes"}},
    {.name = "host",
     .group = kRunGroup,
     .help = "CPU and memory of the machine; see 'plimsoll hosts'",
     .default_text = "generic",
     .value = text_value<&Request::host>("ID|FILE", Type::kPath),
     .record = {.name = "host"}},
    {.name = "cpu",
     .group = kRunGroup,
     .help = "the host's processor, e.g. \"Xeon E5-2640 v4\"; sets the time to launch kernels",
     .default_text = "one as old as the GPU",
     .value = text_value<&Request::cpu>("NAME", Type::kText),
     .record = {.name = "cpu", .composed = true},
     .acts = {has_unknown_host, "{} names a known machine", "host=ID"}},
    {.name = "workers",
     .group = kRunGroup,
     .help = "loader processes (num_workers); adds data loading to the time",
     .default_text = "no data loading",
     .value = count_value<&Request::workers>(0, 4096),
     .record = {.name = "workers"},
     .axis = SweepAxis::kNone},
    {.name = "loader",
     .group = kRunGroup,
     .help = "data loading per sample: memory (tensors are ready), convert (images to tensors), "
             "transform (and normalise), files (and decode) or none",
     .value = loader(),
     .record = {.name = "loader"},
     .acts = {knows_loader, "the loading time of this framework is unknown"}},
    {.name = "epochs",
     .group = kRunGroup,
     .help = "passes over the data, for the time of a whole run",
     .value = count_value<&Request::epochs>(1, kLargestCount),
     .record = {.of_run = false},
     .axis = SweepAxis::kNone,
     .acts = {knows_epoch, "{} sets the length of an epoch", "samples"},
     .verbs = kOfRun},
    {.name = "samples",
     .group = kRunGroup,
     .help = "samples per epoch",
     .default_text = "the built-in's data set",
     .value = count_value<&Request::samples>(1, int64_t{1} << 50),
     .record = {.of_run = false},
     .axis = SweepAxis::kNone,
     .verbs = kOfRun},
    {.name = "samples-in-memory",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "samples of the data set that stay in the host's memory",
     .value = count_value<&Request::samples_in_memory>(1, int64_t{1} << 50),
     .record = {.name = "samples"},
     .axis = SweepAxis::kNone,
     .acts = {knows_host_memory, "the host memory of this framework is unknown"},
     .verbs = kOfHost},
};

}  // namespace

std::span<const SettingRow> run_settings() { return kRunRows; }

}  // namespace plimsoll
