// tables: cuDNN's answers that hwdb ships, made again.
#include <fmt/format.h>
#include <memory>
#include <string>

#include "calibrate/asking_child.h"
#include "calibrate/verb.h"
#include "calibrate/workspace_packer.h"
#include "graph/base/try.h"
#include "hwdb/hwdb.h"

namespace plimsoll::calibrate {
namespace {

struct TablesFlags {
  std::string out;
  std::vector<std::string> only;
};

// Of each compute capability a card: of it, only the clocks change answers, and only on 9.0.
constexpr std::pair<const char*, const char*> kCards[] = {
    {"sm61", "titan-xp"},     {"sm70", "tesla-v100-sxm2-16gb"},
    {"sm75", "tesla-t4"},     {"sm80", "a100-sxm-40gb"},
    {"sm86", "rtx-3090"},     {"sm89", "rtx-4090"},
    {"sm90", "h100-sxm-80gb"}};

Result<std::string> table_of(const Device& device, const LayerList& layers, std::string& version) {
  auto child = TRY(AskingChild::start(device));
  version = child.version().substr(0, child.version().rfind('.'));
  const auto questions = table_questions(layers, DType::kFloat32, false);
  std::vector<std::vector<AskedPlan>> answers(questions.size());
  for (size_t i = 0; i < questions.size(); ++i) {
    auto listed = TRY(child.ask(questions[i]));
    if (listed.mode == "instant") answers[i] = std::move(listed.plans);
  }
  return pack_workspaces(questions, answers);
}

int run_tables(const TablesFlags& flags) {
  const Hwdb hwdb;
  const auto bytes = hwdb.read("workspaces/layers.bin");
  if (!bytes) return report(bytes.error());
  const auto layers = LayerList::read(*bytes);
  if (!layers) return report(layers.error());
  for (const auto& [name, card] : kCards) {
    if (!flags.only.empty() && std::ranges::find(flags.only, name) == flags.only.end()) continue;
    const auto device = hwdb.device(card);
    if (!device) return report(device.error());
    std::string version;
    const auto table = table_of(*device, *layers, version);
    if (!table) return report(table.error());
    const std::string file = fmt::format("cudnn-{}-{}-fp32-nchw.bin", version, name);
    const std::string shipped = "workspaces/" + file;
    const bool same = hwdb.contains(shipped) && hwdb.read(shipped) == *table;
    fmt::print("{}: {} questions about {}, {} the one that is built in\n", file,
               layers->size() * std::size(kTableBatches) * 3, card, same ? "equal to" : "not");
    std::fflush(stdout);
    if (const int fault = write_file(flags.out + "/" + file, *table); fault != 0) return fault;
  }
  return 0;
}

}  // namespace

Verb make_tables(const cli::FlagSet& root) {
  auto flags = std::make_shared<TablesFlags>();
  cli::FlagSet app =
      root.add_subcommand("tables",
                          "  plimsoll-calibrate tables --out hwdb/workspaces\n\nQueries the "
                          "installed cuDNN again for the answers that come with Plimsoll, and "
                          "reports whether they are equal. Takes some minutes.");
  app.add_option("--out", flags->out, "a folder for the tables").type_name("FOLDER").required();
  app.add_option("--only", flags->only, "only these: sm61, sm90, ...").type_name("NAME");
  return {app, [flags] { return run_tables(*flags); }};
}

}  // namespace plimsoll::calibrate
