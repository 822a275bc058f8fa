#include "hwdb/measured/source.h"

#include <algorithm>

#include "graph/base/glob.h"
#include "graph/base/try.h"
#include "graph/json/read_object.h"
#include "hwdb/measured/keys.h"

namespace plimsoll {
namespace {

constexpr std::string_view kSourcesFile = "sources.json";
constexpr IntegerRange kSamples{.low = 1, .high = int64_t{1} << 40};

void read_defaults(JsonObject& object, MeasuredRun& defaults) {
  auto read = object.optional_object("defaults");
  if (!read) return;
  decode_run(*read, defaults);
  for (const JsonMember& note : defaults.notes) {
    read->fail("E305", "no record has a key \"" + note.key + "\"", note.value);
  }
}

MeasuredCase read_case(JsonObject& object) {
  MeasuredCase c;
  object.required_string("says");
  c.framework = object.optional_string("framework").value_or("");
  c.version = object.optional_string("version").value_or("");
  c.model = object.optional_string("model").value_or("");
  c.device = object.optional_string("device").value_or("");
  c.mode = object.optional_string("mode").value_or("");
  c.dtype = object.optional_string("dtype").value_or("");
  c.optimisation = object.optional_string("optimisation").value_or("");
  c.finetune = object.optional_string("finetune").value_or("");
  c.several_nodes = object.optional_bool("several_nodes");
  c.several_gpus = object.optional_bool("several_gpus");
  c.gpus = object.optional_integer("gpus", kSamples);
  c.key = object.optional_string("key").value_or("");
  c.words = object.optional_strings("words");
  read_defaults(object, c.defaults);
  object.finish();
  return c;
}

MeasuredSource read_source(JsonObject& object) {
  MeasuredSource source;
  source.source = object.required_string("source");
  source.says = object.required_string("says");
  read_defaults(object, source.defaults);
  for (const JsonValue& row : object.optional_list("cases")) {
    JsonObject part(row, object.file(), object.faults());
    source.cases.push_back(read_case(part));
  }
  for (const JsonValue& row : object.optional_list("networks")) {
    JsonObject network(row, object.file(), object.faults());
    source.networks.push_back({.model = network.required_string("model"),
                               .framework = network.optional_string("framework").value_or(""),
                               .version = network.optional_string("version").value_or(""),
                               .network = network.required_string("network"),
                               .least_batch = network.optional_integer("least_batch", kSamples)});
    network.finish();
  }
  source.repeats = object.optional_strings("repeats");
  for (const JsonValue& row : object.optional_list("precisions")) {
    JsonObject precision(row, object.file(), object.faults());
    source.precisions.push_back({.dtype = precision.required_string("dtype"),
                                 .mixed = precision.optional_string("mixed_precision").value_or(""),
                                 .prepared = precision.optional_string("kbit_prepare").value_or(""),
                                 .precision = precision.required_string("precision")});
    precision.finish();
  }
  for (const JsonValue& row : object.optional_list("quantizations")) {
    JsonObject form(row, object.file(), object.faults());
    source.quantizations.push_back({.quantize = form.required_string("quantize"),
                                    .model = form.optional_string("model").value_or(""),
                                    .means = form.required_string("means")});
    form.finish();
  }
  for (const JsonValue& row : object.optional_list("checkpoints")) {
    JsonObject word(row, object.file(), object.faults());
    source.checkpoints.push_back(
        {.checkpoint = word.required_string("checkpoint"), .means = word.required_string("means")});
    word.finish();
  }
  for (const JsonValue& row : object.optional_list("datasets")) {
    JsonObject dataset(row, object.file(), object.faults());
    source.datasets.push_back(
        {.dataset = dataset.required_string("dataset"),
         .samples = dataset.optional_integer("samples", kSamples).value_or(0)});
    dataset.finish();
  }
  object.finish();
  return source;
}

bool has_word(const MeasuredRun& run, const MeasuredCase& c) {
  const auto value = value_of(run, c.key);
  const std::string* word = value ? value->string() : nullptr;
  return word && std::ranges::find(c.words, *word) != c.words.end();
}

void forget_machine(MeasuredRun& told) { told.host.clear(); }

}  // namespace

bool MeasuredCase::holds(const MeasuredRun& run) const {
  const auto meets = [](const std::string& wanted, const std::string& word) {
    return wanted.empty() || wanted == word;
  };
  return meets(framework, run.framework) && run.framework_version.starts_with(version) &&
         (model.empty() || matches(model, run.model)) && meets(device, run.device) &&
         meets(mode, run.mode) && meets(dtype, run.dtype) &&
         meets(optimisation, run.optimisation) && meets(finetune, run.finetune) &&
         (!several_nodes || *several_nodes == (run.nodes.value_or(1) > 1)) &&
         (!several_gpus || *several_gpus == (run.n_gpus.value_or(1) > 1)) &&
         (!gpus || *gpus == run.n_gpus.value_or(1)) && (key.empty() || has_word(run, *this));
}

Result<std::vector<MeasuredSource>> read_sources(std::string_view text, std::string_view file) {
  return read_object(text, file, [](JsonObject& root) {
    root.schema("plimsoll.sources", 1);
    std::vector<MeasuredSource> sources;
    for (const JsonValue& item : root.required_list("sources")) {
      JsonObject object(item, root.file(), root.faults());
      sources.push_back(read_source(object));
    }
    return sources;
  });
}

void MeasuredSource::complete(MeasuredRun& run) const {
  std::vector<std::string_view> read;
  for (const MeasuredCase& c : cases) {
    if (!c.holds(run)) continue;
    complete_run(run, c.defaults);
    read.push_back(c.key);
  }
  complete_run(run, defaults);
  for (const NamedNetwork& n : networks) {
    const bool meant = matches(n.model, run.model) && run.network.empty() &&
                       (n.framework.empty() || n.framework == run.framework) &&
                       run.framework_version.starts_with(n.version);
    if (!meant) continue;
    run.network = n.network;
    if (!run.least_batch) run.least_batch = n.least_batch;
  }
  std::erase_if(run.notes, [&](const JsonMember& note) {
    return std::ranges::find(repeats, note.key) != repeats.end() ||
           std::ranges::find(read, note.key) != read.end();
  });
  const auto meant = std::ranges::find_if(precisions, [&](const NamedPrecision& p) {
    return p.dtype == run.dtype && (p.mixed.empty() || p.mixed == run.mixed_precision) &&
           (p.prepared.empty() || p.prepared == run.kbit_prepare);
  });
  if (meant != precisions.end()) {
    run.dtype = meant->precision;
    if (!meant->mixed.empty()) run.mixed_precision.clear();
  }
  const auto form = std::ranges::find_if(quantizations, [&](const NamedQuantization& q) {
    return q.quantize == run.quantize && (q.model.empty() || q.model == run.model);
  });
  if (form != quantizations.end()) run.quantize = form->means;
  const auto word = std::ranges::find(checkpoints, run.checkpoint, &NamedCheckpoint::checkpoint);
  if (word != checkpoints.end()) run.checkpoint = word->means;
  for (const NamedDataset& d : datasets) {
    if (d.dataset == run.dataset && !run.samples) run.samples = d.samples;
  }
}

Result<MeasuredSources> MeasuredSources::open(const Hwdb& hwdb, bool machines) {
  const auto text = TRY(hwdb.read(kSourcesFile));
  auto read = TRY(read_sources(text, kSourcesFile));
  MeasuredSources sources;
  sources.sources_ = std::move(read);
  for (MeasuredSource& source : sources.sources_) {
    if (machines) break;
    forget_machine(source.defaults);
    for (MeasuredCase& c : source.cases) forget_machine(c.defaults);
  }
  return sources;
}

const MeasuredSource* MeasuredSources::find(const RunFile& file) const {
  for (const MeasuredSource& s : sources_) {
    const bool named =
        !s.source.empty() && (file.repository == s.source || file.title.starts_with(s.source));
    if (named) return &s;
  }
  return nullptr;
}

Result<void> read_runs(const std::string& path, const MeasuredSources& sources,
                       const std::function<void(MeasuredRun&&)>& each, const Limits& limits,
                       Diagnostics* warnings) {
  const Result<ByteSource> source = ByteSource::open(path, limits);
  if (!source) return tl::make_unexpected(source.error());
  const Result<RunFile> file = read_measured(
      *source, [](MeasuredRun&&) {}, limits);
  if (!file) return tl::make_unexpected(file.error());
  if (warnings) warnings->insert(warnings->end(), file->warnings.begin(), file->warnings.end());
  const MeasuredSource* known = sources.find(*file);
  const auto completed = [&](MeasuredRun&& run) {
    if (known) known->complete(run);
    each(std::move(run));
  };
  const Result<RunFile> again = read_measured(*source, completed, limits);
  if (!again) return tl::make_unexpected(again.error());
  return {};
}

}  // namespace plimsoll
