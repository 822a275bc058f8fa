// ops, models, schema, version: what the program itself knows.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "estimator/app/cli/output.h"
#include "estimator/app/cli/verb.h"
#include "estimator/app/report/document.h"
#include "estimator/app/report/lists.h"
#include "estimator/app/report/schemas.h"
#include "estimator/app/report/table.h"
#include "estimator/app/report/version.h"
#include "estimator/model/model_source.h"
#include "estimator/model/request_names.h"
#include "graph/builtin/builtin.h"
#include "graph/config/model_config.h"
#include "graph/family/family.h"
#include "graph/ops/op_row.h"
#include "hwdb/calibration.h"
#include "hwdb/coefficients.h"

namespace plimsoll::cli {
namespace {

std::string full_name(const OpRow& row) {
  return row.domain.empty() ? std::string(row.name) : fmt::format("{}:{}", row.domain, row.name);
}

// An example's types; of one operator on its own also what lowering it gives.
std::string example_of(const OpRow& row, bool alone) {
  const std::string_view example = row.example;
  const size_t bar = std::min(example.find(" | "), example.size());
  std::string text(example.substr(0, bar));
  if (alone && bar < example.size()) text += fmt::format("\n  {}", example.substr(bar + 3));
  return text;
}

int unknown_operator(const std::string& name, const std::vector<std::string>& names) {
  const std::string near = nearest(name, names);
  return report(
      {{.code = "E151",
        .severity = Severity::kError,
        .message = fmt::format("there is no operator '{}'{}", name,
                               near.empty() ? "" : fmt::format("; did you mean {}?", near)),
        .place = {},
        .help = {}}});
}

int show_ops(const std::string& name, const OutputFlags& output) {
  if (const auto good = check_output(output); !good) return report(good.error());
  std::vector<ListedOperator> listed;
  std::vector<std::string> names;
  Table table({{"operator", {}, Column::kName}, {"since"}, {"example", {}, Column::kRemark}});
  std::string text;
  for (const OpRow* row : all_ops()) {
    names.emplace_back(row->name);
    if (!name.empty() && row->name != name) continue;
    const std::string example = example_of(*row, !name.empty());
    listed.push_back({full_name(*row), row->since, std::string(row->example)});
    table.add({{full_name(*row)}, {std::to_string(row->since)}, {example_of(*row, false)}});
    text += fmt::format("{:<38}since {:<4}{}\n", full_name(*row), row->since, example);
  }
  if (listed.empty() && !output.json) return unknown_operator(name, names);
  if (output.json) return print(described_text([&](Fields& f) { f.visit(listed); }));
  return output.table() ? print_table(table, output) : print(text);
}

// What --set, --dim, --batch and --image take, with what holds where they are not given.
std::string parameters_text(const LoadedModel& model, int64_t image, const Page& page) {
  const ModelConfig& config = model.config;
  Table table({{"option", {}, Column::kRemark}, {"default", {}, Column::kName}});
  if (model.from_onnx) {
    const ModelNames names = names_of(model);
    if (names.batch) table.add({{"--batch N"}, {"32"}});
    if (names.images) table.add({{"--image N"}, {std::to_string(image)}});
    for (const std::string& dim : names.dims) {
      if (dim != "batch") table.add({{"--dim " + dim + "=N"}, {"none"}});
    }
  }
  for (const ConfigParameter& p : config.parameters) {
    const std::string flag = p.name == "batch" ? "--batch N"
                             : p.symbolic      ? fmt::format("--dim {}=N", p.name)
                                               : fmt::format("--set {}=VALUE", p.name);
    table.add({{flag}, {p.value}});
  }
  return table.empty() ? "" : "\n" + table.text(page, 2);
}

// The dimensions and parameters of a published configuration.
int show_published(const std::string& name) {
  const Page page = page_of({});
  Request request;
  request.model = name;
  const auto model = load_model_inputs(request);
  if (!model) return report(model.error());
  return print(wrapped(name + ": a configuration published on Hugging Face", page) +
               parameters_text(*model, 0, page));
}

int show_model(const std::string& given) {
  if (given.starts_with("hf:")) return show_published(given);
  const Page page = page_of({});
  constexpr std::string_view kPrefix = "builtin:";
  const std::string name = given.starts_with(kPrefix) ? given.substr(kPrefix.size()) : given;
  const auto row = find_builtin(name);
  if (!row) return report(row.error());
  Request request;
  request.model = "builtin:" + name;
  const auto model = load_model_inputs(request);
  if (!model) return report(model.error());
  std::string text = wrapped(fmt::format("{}: {}", row->name, row->description), page) +
                     wrapped(fmt::format("source: {}", row->source), page) +
                     parameters_text(*model, row->image, page);
  if (!model->config.meta.dataset.empty()) {
    text +=
        "\n" + wrapped(fmt::format("data set: {}, {} samples an epoch", model->config.meta.dataset,
                                   model->config.meta.samples_per_epoch),
                       page);
  }
  return print(text);
}

int show_models(const std::string& name, const OutputFlags& output) {
  if (const auto good = check_output(output); !good) return report(good.error());
  if (!name.empty()) return show_model(name);
  if (output.table()) {
    Table table({{"model", {}, Column::kName}, {"description", {}, Column::kRemark}});
    for (const BuiltinRow& row : builtin_models()) table.add({{row.name}, {row.description}});
    return print_table(table, output);
  }
  constexpr size_t kNames = 30;
  const Page page = page_of(output);
  std::string text;
  for (const BuiltinRow& row : builtin_models()) {
    std::string line = fmt::format("{:<{}}  {}", row.name, kNames, row.description);
    if (columns_of(line) > page.width) line = line.substr(0, page.width - 3) + "...";
    text += line + "\n";
  }
  return print(text + "\n" +
               wrapped("'plimsoll models NAME' lists a model's parameters. 'plimsoll models "
                       "--families' lists the model types of Hugging Face and the published "
                       "configurations, hf:NAME.",
                       page));
}

// Which model types a Hugging Face config may say, and which published ones travel along.
int show_families(const OutputFlags& output) {
  if (const auto good = check_output(output); !good) return report(good.error());
  if (output.table()) {
    Table table({{"model", {}, Column::kName},
                 {"class", {}, Column::kRemark},
                 {"description", {}, Column::kRemark}});
    for (const FamilyRow& row : families())
      table.add({{fmt::format("{}", fmt::join(row.model_types, " "))},
                 {row.class_name},
                 {row.description}});
    for (const std::string& name : published_models())
      table.add({{"hf:" + name}, {}, {"a published configuration"}});
    return print_table(table, output);
  }
  constexpr size_t kNames = 16;
  const Page page = page_of(output);
  std::string text;
  for (const FamilyRow& row : families()) {
    text +=
        wrapped(fmt::format("{:<{}}  {}: {}", fmt::format("{}", fmt::join(row.model_types, " ")),
                            kNames, row.class_name, row.description),
                page, kNames + 2);
  }
  text += "\nPublished configurations, as hf:NAME:\n";
  for (const std::string& name : published_models()) text += "  hf:" + name + "\n";
  return print(text);
}

std::string all_schemas() { return fmt::format("{}", fmt::join(schema_names(), ", ")); }

int show_schema(const std::string& name) {
  const std::string schema = schema_text(name);
  if (!schema.empty()) return print(schema);
  return report({{.code = "E152",
                  .severity = Severity::kError,
                  .message = fmt::format("no schema is called '{}'", name),
                  .place = {},
                  .help = all_schemas()}});
}

int64_t coefficients(const Calibration& calibration) {
  int64_t count = 0;
  for (const Fit& fit : calibration.fits) count += coefficients(fit);
  return count;
}

int64_t kernels(const Calibration& calibration) {
  int64_t count = 0;
  for (const Fit& fit : calibration.fits) count += fit.measured;
  return count;
}

int show_version(bool json) {
  const auto data = data_versions();
  if (!data) return report(data.error());
  const auto calibrations = shipped_calibrations();
  if (!calibrations) return report(calibrations.error());
  if (!json) {
    std::string text = fmt::format("plimsoll {}, commit {}\n", kVersion, commit());
    for (const DataVersion& v : *data)
      text += fmt::format("{:<13}{:>4} files   {}\n", v.kind, v.files, v.digest);
    text += "\ncalibration  fits  coefficients  of measured kernels\n";
    for (const Calibration& c : *calibrations) {
      text += fmt::format("{:<11}{:>6}{:>14}{:>21}\n", c.id, c.fits.size(), coefficients(c),
                          kernels(c));
    }
    return print(text);
  }
  ProgramVersion version;
  for (const DataVersion& v : *data) version.data.emplace_back(v.kind, v);
  for (const Calibration& c : *calibrations) {
    version.calibrations.emplace_back(
        c.id, CalibrationVersion{static_cast<int64_t>(c.fits.size()), coefficients(c), kernels(c)});
  }
  return print(described_text([&](Fields& f) { f.visit(version); }));
}

}  // namespace

Verb make_ops(const FlagSet& root) {
  auto name = std::make_shared<std::string>();
  auto output = std::make_shared<OutputFlags>();
  FlagSet app =
      root.add_subcommand("ops", "Lists the known operators, or shows one with an example.");
  app.add_option("name", *name, "one operator");
  add_list_output(app, *output, "the list");
  return {app, [name, output] { return show_ops(*name, *output); }};
}

Verb make_models(const FlagSet& root) {
  auto name = std::make_shared<std::string>();
  FlagSet app =
      root.add_subcommand("models", "Lists the built-in models, or shows one with its source.");
  auto all_families = std::make_shared<bool>(false);
  app.add_option("name", *name, "one model, with its source");
  app.add_flag(
      "--families", *all_families,
      "known model types of Hugging Face configs, and the configs that come with Plimsoll");
  auto output = std::make_shared<OutputFlags>();
  add_table_forms(app, *output, "the list");
  return {app, [name, all_families, output] {
            return *all_families ? show_families(*output) : show_models(*name, *output);
          }};
}

Verb make_schema(const FlagSet& root) {
  auto name = std::make_shared<std::string>("estimate");
  FlagSet app = root.add_subcommand("schema", "Prints a JSON Schema of an input or output.");
  app.add_option("name", *name, all_schemas()).default_str("estimate");
  return {app, [name] { return show_schema(*name); }};
}

Verb make_version(const FlagSet& root) {
  auto json = std::make_shared<bool>(false);
  FlagSet app =
      root.add_subcommand("version", "Prints the version of the program and of its data.");
  app.add_flag("--json", *json, "print the result as JSON");
  return {app, [json] { return show_version(*json); }};
}

}  // namespace plimsoll::cli
