// `plimsoll sweep` as users meet it: plans good and bad, lines that scripts read.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "estimator/app/report/schemas.h"
#include "tests/support/run_plimsoll.h"
#include "tests/support/schema_fault.h"
#include "tests/support/swept.h"

using namespace plimsoll::test;
using nlohmann::json;

TEST_CASE("cli sweep: a line for each configuration, with estimate's verdict") {
  if (skipped()) return;
  const Ran ran = swept(kSmallPlan, {"--json"});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK(ran.err.find("p.yaml:5:3: warning: learning_rate is no setting") != std::string::npos);
  CHECK(ran.err.find("p.yaml:8:3: warning: momentum is no setting") != std::string::npos);
  const std::vector<json> lines = lines_of(ran.out);
  REQUIRE(lines.size() == 2 * 3 * 2 * 2 + 1);
  const json schema = json::parse(plimsoll::schema_text("sweep"));
  std::set<int> numbers;
  int64_t fit = 0;
  for (const json& line : lines) {
    CHECK(schema_fault(schema, line) == "");
    if (!line.contains("configuration")) continue;
    numbers.insert(line["configuration"].get<int>());
    fit += line["fits"].get<bool>() ? 1 : 0;
    const json& p = line["parameters"];
    const int expected =
        (((p["batch_size"] == 64 ? 1 : 0) * 3 + (p["learning_rate"] == 0.1    ? 0
                                                 : p["learning_rate"] == 0.01 ? 1
                                                                              : 2)) *
             2 +
         (p["optimizer"] == "adam" ? 1 : 0)) *
            2 +
        (p["gpu"] == "p4000" ? 1 : 0);
    CHECK(line["configuration"] == expected);
  }
  CHECK(numbers.size() == 24);
  const json& summary = lines.back()["result"];
  CHECK(summary["configurations"] == 24);
  CHECK(summary["fit"] == fit);

  const json& one = lines[3];
  const auto text = [&](const char* name) { return one["parameters"][name].get<std::string>(); };
  const Ran alone = run_plimsoll(
      {"estimate", "builtin:squeezenet1_0", "--gpu", text("gpu"), "--optimizer", text("optimizer"),
       "--batch", std::to_string(one["parameters"]["batch_size"].get<int>()), "--json"});
  const json estimate = json::parse(alone.out)["result"];
  CHECK(one["device_id"] == estimate["device"]["id"]);
  CHECK(one["fits"] == estimate["fits"]);
  CHECK(one["device_bytes"] == estimate["memory"]["device_bytes"]);
  CHECK(one["step_ns"] == estimate["time"]["step_ns"]);
  CHECK(one["samples_per_second"] == estimate["time"]["samples_per_second"]);
}

TEST_CASE("cli sweep: the same every time; counts alone, memory alone") {
  if (skipped()) return;
  const auto summary = [](const std::vector<std::string>& flags) {
    json last = lines_of(swept(kSmallPlan, flags).out).back()["result"];
    last.erase("seconds");
    return last;
  };
  const json all = summary({"--json"});
  CHECK(summary({"--json", "--count-only"}) == all);
  CHECK(lines_of(swept(kSmallPlan, {"--json", "--count-only"}).out).size() == 1);
  const json memory = summary({"--json", "--memory-only"});
  CHECK(memory["fit"] == all["fit"]);
  CHECK(memory["checksum"] != all["checksum"]);
  CHECK_FALSE(lines_of(swept(kSmallPlan, {"--json", "--memory-only"}).out)[0].contains("step_ns"));
}

TEST_CASE("cli sweep: text says how many, and which are the best") {
  if (skipped()) return;
  const Ran ran = swept(kSmallPlan);
  CHECK(ran.status == 0);
  CHECK(ran.out.starts_with(
      "24 configurations: 2 batch_size x 3 learning_rate x 2 optimizer x 2 gpu\n"
      "24 fit, 0 may fit, 0 do not fit; "));
  CHECK(ran.out.find("\nBest that fit ") != std::string::npos);
  const Ran none = swept(kSmallPlan, {"--mem", "128MiB"});
  CHECK(none.status == 1);
  CHECK(none.out.find("\n0 fit, ") != std::string::npos);
  CHECK(none.out.find("\nNearest: batch_size 8, ") != std::string::npos);
  CHECK(swept(kSmallPlan, {"--dry-run"}).out.find('\n') ==
        swept(kSmallPlan, {"--dry-run"}).out.size() - 1);
}

TEST_CASE("cli sweep: a configuration without an answer is told among the others") {
  if (skipped()) return;
  const Ran ran =
      swept("model: builtin:alexnet\nparameters: {batch: [8, 2000000000], gpu: l4}\n", {"--json"});
  CHECK(ran.status == 0);
  const std::vector<json> lines = lines_of(ran.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[1]["error"]["code"] == "E232");
  CHECK(schema_fault(json::parse(plimsoll::schema_text("sweep")), lines[1]) == "");
  CHECK(lines[2]["result"]["failed"] == 1);
}

TEST_CASE("cli sweep: models beside the plan, their parameters and sizes") {
  if (skipped()) return;
  const Scratch scratch;
  scratch.write("net.json", R"({"schema": "plimsoll.model-config", "version": 1, "name": "net",
"parameters": {"width": 64, "kind": {"one_of": ["relu", "tanh"]}},
"inputs": [{"name": "x", "shape": ["batch", 8]}],
"layers": [{"type": "linear", "out": "width"}, {"type": "kind"}, {"type": "linear", "out": 4}]})");
  const std::string plan = scratch.write("plan.json", R"({"model": "net.json", "parameters":
{"width": [64, 1024], "kind": ["relu", "tanh"], "batch": [1, 4096], "gpu": "l4"}})");
  const Ran ran = run_plimsoll({"sweep", plan, "--json"});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK(ran.err.empty());
  std::set<int64_t> bytes;
  for (const json& line : lines_of(ran.out)) {
    if (line.contains("device_bytes")) bytes.insert(line["device_bytes"].get<int64_t>());
  }
  CHECK(bytes.size() >= 2);
}

TEST_CASE("cli sweep: true and false switch") {
  if (skipped()) return;
  const Ran ran = swept(
      "model: builtin:alexnet\n"
      "parameters: {cudnn_benchmark: [true, off], batch: 64, gpu: l4, weight_decay: [0, 0.1]}\n",
      {"--json"});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  std::set<int64_t> bytes;
  for (const json& line : lines_of(ran.out)) {
    if (line.contains("device_bytes")) bytes.insert(line["device_bytes"].get<int64_t>());
  }
  CHECK(bytes.size() >= 2);  // timed plans take more scratch memory
}

TEST_CASE("cli sweep: compiled or not is a parameter, with estimate's answers") {
  if (skipped()) return;
  const Ran ran = swept(
      "model: builtin:resnet18\n"
      "parameters: {gpu: l4, batch: 8, compile: [true, false, 'on']}\n",
      {"--json"});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  std::vector<json> points;
  for (const json& line : lines_of(ran.out)) {
    if (line.contains("step_ns")) points.push_back(line);
  }
  REQUIRE(points.size() == 3);
  CHECK(points[0]["step_ns"] < points[1]["step_ns"]);
  CHECK(points[0]["step_ns"] == points[2]["step_ns"]);
  const Ran one = run_plimsoll(
      {"estimate", "builtin:resnet18", "--gpu", "l4", "--batch", "8", "--compile", "--json"});
  CAPTURE(one.err);
  REQUIRE(one.status == 0);
  const json result = json::parse(one.out)["result"];
  CHECK(points[0]["step_ns"] == result["time"]["step_ns"]);
  CHECK(points[0]["device_bytes"] == result["memory"]["device_bytes"]);
}

TEST_CASE("cli sweep: what is frozen is a parameter, several patterns with commas") {
  if (skipped()) return;
  const Ran ran = swept(
      "model: builtin:alexnet\n"
      "parameters: {gpu: l4, batch: 8, freeze: [none, 'features.*', 'features.*, *.weight']}\n",
      {"--json", "--memory-only"});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  std::vector<int64_t> bytes;
  for (const json& line : lines_of(ran.out)) {
    if (line.contains("device_bytes")) bytes.push_back(line["device_bytes"].get<int64_t>());
  }
  REQUIRE(bytes.size() == 3);
  CHECK(bytes[0] > bytes[1]);
  CHECK(bytes[1] > bytes[2]);
}

TEST_CASE("cli sweep: several models are a parameter, with estimate's answers") {
  if (skipped()) return;
  const Ran ran = swept(
      "model: [builtin:alexnet, builtin:squeezenet1_0]\n"
      "parameters: {gpu: l4, batch: [8, 64]}\nobjective: {name: step_ns}\n",
      {"--json"});
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK(ran.err.empty());
  const std::vector<json> lines = lines_of(ran.out);
  REQUIRE(lines.size() == 5);
  json least = lines[0];
  for (size_t i = 0; i < 4; ++i) {
    if (lines[i]["step_ns"] < least["step_ns"]) least = lines[i];
    const json& p = lines[i]["parameters"];
    CHECK(lines[i]["configuration"] ==
          (p["model"] == "builtin:alexnet" ? 0 : 2) + (p["batch"] == 8 ? 0 : 1));
    const Ran alone = run_plimsoll({"estimate", p["model"].get<std::string>(), "--gpu", "l4",
                                    "--batch", p["batch"].dump(), "--json"});
    const json estimate = json::parse(alone.out)["result"];
    CHECK(lines[i]["device_bytes"] == estimate["memory"]["device_bytes"]);
  }
  const json best = lines[4]["result"]["best"];
  CHECK(best["configuration"] == least["configuration"]);
  CHECK(best["value"] == least["step_ns"].get<double>());
  CHECK(best["goal"] == "minimize");
  CHECK(schema_fault(json::parse(plimsoll::schema_text("sweep")), lines[4]) == "");
  const Ran text = swept(
      "model: builtin:alexnet\nparameters: {gpu: l4, batch: [8, 64]}\n"
      "objective: {name: device_bytes}\n");
  CHECK(says(text.out, "\nBest by device_bytes: gpu l4, batch 8: "));
}

TEST_CASE(
    "cli sweep: what fits, as array jobs, a table and a plan that has the same configurations") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string plan =
      "program: train.py\nmethod: grid\nmodel: net.json\nparameters:\n"
      "  width: [64, 4096]\n  batch: {min: 1000, max: 81000, step: 20000}\n"
      "  optimizer: {values: [sgd, adam]}\n  gpu: {values: [t4, p4000]}\n";
  scratch.write("net.json", R"({"schema": "plimsoll.model-config", "version": 1, "name": "net",
"parameters": {"width": 64}, "inputs": [{"name": "x", "shape": ["batch", 4096]}],
"layers": [{"type": "linear", "out": "width"}, {"type": "relu"}, {"type": "linear", "out": "width"},
{"type": "relu"}, {"type": "linear", "out": "width"}, {"type": "relu"}, {"type": "linear", "out": 4096}]})");
  scratch.write("p.yaml", plan);
  const auto run = [&](std::vector<std::string> arguments) {
    return run_plimsoll(std::move(arguments), {.folder = scratch.path("")});
  };
  const Ran whole = run({"sweep", "p.yaml", "--json", "--emit", "slurm", "--emit", "csv", "--emit",
                         "plan", "--emit-to", "jobs"});
  CAPTURE(whole.err);
  REQUIRE(whole.status == 0);
  std::map<std::string, json> fit;  // by parameters
  size_t all = 0;
  for (const json& line : lines_of(whole.out)) {
    if (!line.contains("verdict")) continue;
    ++all;
    if (line["verdict"] == "fits") fit[line["parameters"].dump()] = line;
  }
  CHECK(fit.size() > 4);
  CHECK(fit.size() < all);

  // A task of each array runs the program with the parameters of one of those.
  std::set<std::string> tasks;
  std::vector<std::string> plans;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path("jobs"))) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("plan")) plans.push_back("jobs/" + name);
    if (!name.ends_with(".sbatch")) continue;
    const std::string text = detail::text_of(entry.path().string());
    const size_t at = text.find("--array=0-");
    REQUIRE(at != std::string::npos);
    const int last = std::stoi(text.substr(at + 10));
    for (int task = 0; task <= last; ++task) {
      const std::string command = "cd " + scratch.path("jobs") +
                                  " && SLURM_ARRAY_TASK_ID=" + std::to_string(task) + " bash " +
                                  name + " printf '%s ' > ../task";
      CHECK(std::system(command.c_str()) == 0);
      CHECK(tasks.insert(detail::text_of(scratch.path("task"))).second);
    }
  }
  CHECK(tasks.size() == fit.size());
  for (const auto& [key, line] : fit) {
    const json& p = line["parameters"];
    CHECK(tasks.contains("--width=" + p["width"].dump() + " --batch=" + p["batch"].dump() +
                         " --optimizer=" + p["optimizer"].get<std::string>() +
                         " --gpu=" + p["gpu"].get<std::string>() + " "));
  }
  const std::string table = detail::text_of(scratch.path("jobs/fit.csv"));
  CHECK(static_cast<size_t>(std::ranges::count(table, '\n')) == fit.size() + 1);
  CHECK(table.starts_with("width,batch,optimizer,gpu,device_id,device_bytes,"));

  size_t again = 0;
  REQUIRE_FALSE(plans.empty());
  for (const std::string& name : plans) {
    CHECK(says(detail::text_of(scratch.path(name)), "program: train.py\nmethod: grid\n"));
    for (const json& line : lines_of(run({"sweep", name, "--json"}).out)) {
      if (!line.contains("verdict")) continue;
      ++again;
      REQUIRE(fit.contains(line["parameters"].dump()));
      CHECK(fit[line["parameters"].dump()]["device_bytes"] == line["device_bytes"]);
    }
  }
  CHECK(again == fit.size());
  const Ran second = run({"sweep", "p.yaml", "--emit", "csv", "--emit-to", "jobs"});
  CHECK(second.status == 4);
  CHECK(says(second, "[E610]"));
}

// Row G6.
TEST_CASE("cli sweep: a pipe that nobody reads ends it in silence") {
  if (skipped()) return;
  const Scratch scratch;
  scratch.write("p.yaml",
                "model: builtin:mlp\nparameters: {gpu: l4, batch: {min: 1, max: 9999}}\n");
  const std::string script = "{ " + std::string(plimsoll_binary()) +
                             " sweep p.yaml --json --memory-only; echo $? > status; } 2> err | "
                             "head -n 1 > out";
  const std::string command = "cd " + scratch.path("") + " && sh -c '" + script + "'";
  CHECK(std::system(command.c_str()) == 0);
  CHECK(detail::text_of(scratch.path("status")) == "141\n");
  CHECK(detail::text_of(scratch.path("err")).empty());
  CHECK(detail::text_of(scratch.path("out")).starts_with("{"));
}

TEST_CASE("cli sweep: hours, cost and time limits, where the length of a run is known") {
  if (skipped()) return;
  const Scratch scratch;
  scratch.write("p.yaml", R"(model: builtin:mlp
parameters: {batch: {values: [32, 64]}, gpu: {values: [tesla-t4, l4]}})");
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"sweep", "p.yaml"});
    return run_plimsoll(std::move(more), {.folder = scratch.path("")});
  };
  const Ran known = run({"--json", "--samples", "1000000", "--epochs", "3", "--price", "t4=0.5",
                         "--emit", "slurm", "--emit-to", "jobs"});
  REQUIRE(known.status == 0);
  double hours = 0;
  for (const json& line : lines_of(known.out)) {
    if (line.contains("run_ns") && line["device_id"] == "tesla-t4")
      hours += line["run_ns"].get<double>() / 3600e9;
  }
  const json gpus = lines_of(known.out).back()["result"]["by_gpu"];
  CHECK(gpus[1]["device_id"] == "tesla-t4");
  CHECK(gpus[1]["fits"] == 2);
  CHECK(gpus[1]["gpu_hours"].get<double>() == doctest::Approx(hours));
  CHECK(gpus[1]["price"].get<double>() == doctest::Approx(hours / 2));
  CHECK_FALSE(gpus[0].contains("price"));
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path("jobs"))) {
    const std::string text = detail::text_of(entry.path().string());
    CHECK(text.find("#SBATCH --time=0:") != std::string::npos);
    const bool of_t4 = entry.path().filename().string().find("tesla-t4") != std::string::npos;
    CHECK((text.find("#SBATCH --gpus=t4:1\n") != std::string::npos) == of_t4);
    CHECK(text.find("sinfo -o %G") != std::string::npos);
  }
  const std::string csv = run({"--csv"}).out;
  CHECK(csv.starts_with("batch,gpu,device_bytes,share_of_usable,step_ns,samples_per_second,"));
  CHECK(run({"--csv", "--json"}).status == 2);
}
