// `plimsoll validate --from`: one run that flags describe beside what meters wrote of it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

namespace {

using Json = nlohmann::json;

std::vector<std::string> metered(const std::vector<std::string>& more) {
  std::vector<std::string> all = {"validate", "--model", "builtin:resnet50", "--batch", "32",
                                  "--gpu",    "t4",      "--optimizer",      "adam"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::string summary_of(int allocated, int reserved) {
  const auto row = [](const std::string& name, int mebibytes) {
    const std::string cell = " | " + std::to_string(mebibytes) + " MiB";
    return "| " + name + cell + cell + cell + cell + " |\n";
  };
  return "|      PyTorch CUDA memory summary, device ID 0      |\n" +
         row("Allocated memory", allocated) + row("GPU reserved memory", reserved);
}

}  // namespace

TEST_CASE("cli: --from holds what meters wrote against the run that flags describe") {
  if (skipped()) return;
  const Scratch scratch;
  const Json estimate = Json::parse(run_plimsoll({"estimate", "builtin:resnet50", "--batch", "32",
                                                  "--gpu", "t4", "--optimizer", "adam", "--json"})
                                        .out)["result"];
  const std::string summary = scratch.write("summary.txt", summary_of(3000, 3300));
  const std::string smi =
      scratch.write("smi.csv", "pid, used_gpu_memory [MiB]\n7, 3500 MiB\n7, 3480 MiB\n");
  const std::string nsys = scratch.write(
      "nsys.csv", "Time (%),Total Time (ns),Instances,Name\n100.0,2000000000,1000,kernel\n");
  const Ran ran =
      run_plimsoll(metered({"--from", "summary=" + summary, "--from", "nvidia-smi=" + smi, "--from",
                            "nsys=" + nsys, "--steps", "10", "--json"}));
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  const Json lines = Json::parse(ran.out)["records"];
  REQUIRE(lines.size() == 4);
  const auto check = [&](size_t i, const char* quantity, const std::string& file, double measured,
                         double predicted) {
    CAPTURE(quantity);
    CHECK(lines[i]["quantity"] == quantity);
    CHECK(lines[i]["file"] == file);
    CHECK(lines[i]["device"] == "tesla-t4");
    CHECK(lines[i]["measured"] == measured);
    CHECK(lines[i]["predicted"].get<double>() == doctest::Approx(predicted).epsilon(0.01));
  };
  const auto mebibytes = [&](const char* name) {
    return estimate["memory"][name].get<double>() / 1048576;
  };
  check(0, "peak_allocated_mb", summary, 3000, mebibytes("allocated_peak_bytes"));
  check(1, "peak_reserved_mb", summary, 3300, mebibytes("reserved_bytes"));
  check(2, "nvidia_smi_mb", smi, 3500, mebibytes("device_bytes"));
  CHECK(lines[3]["quantity"] == "gpu_ms");
  CHECK(lines[3]["measured"] == 200);
  CHECK(lines[3]["predicted"].get<double>() * 1e6 <= estimate["time"]["step_ns"].get<double>());
  CHECK(
      run_plimsoll(metered({"--from", "summary=" + summary, "--tolerance", "memory=1%"})).status ==
      1);
}

TEST_CASE("cli: a GPU that nvidia-smi's file names is the run's") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string smi =
      scratch.write("smi.csv", "name, memory.used [MiB]\nTesla V100-SXM2-16GB, 4000 MiB\n");
  const Ran ran = run_plimsoll({"validate", "--model", "builtin:resnet50", "--batch", "32",
                                "--from", "nvidia-smi=" + smi, "--json"});
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(Json::parse(ran.out)["records"][0]["device"] == "tesla-v100-sxm2-16gb");
}

TEST_CASE("cli: what --from cannot be is said") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string text = scratch.write("s.txt", summary_of(1, 2));
  const auto code = [](const std::vector<std::string>& arguments, const char* wanted) {
    const Ran ran = run_plimsoll(arguments);
    CAPTURE(ran.err);
    CHECK(ran.status != 0);
    CHECK(says(ran, wanted));
  };
  code({"validate", "--from", "summary=" + text}, "E108");
  code({"validate", "--from", "summary=" + text, "--model", "builtin:resnet50"}, "E108");
  code({"validate", "runs.csv", "--from", "summary=" + text}, "E114");
  code(metered({"--from", "sumary=" + text}), "E106");
  code(metered({"--from", text}), "E105");
  code(metered({"--from", "nsys=" + text}), "E108");
  code(metered({"--from", "snapshot=" + text}), "E3");
  code(metered({"--from", "summary=" + scratch.write("p", "\x80\x04\x95")}), "E530");
  code(metered({"--from", "summary=" + text, "--longest", "batch=64"}), "E117");
}

TEST_CASE("cli: where a gap lies is said of what is out of tolerance, in every form") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string summary = scratch.write("summary.txt", summary_of(2930, 3300));
  const std::string smi = scratch.write("smi.csv", "pid, used_gpu_memory [MiB]\n7, 5000 MiB\n");
  const std::string junit = scratch.path("j.xml");
  const Ran ran =
      run_plimsoll(metered({"--from", "summary=" + summary, "--from", "nvidia-smi=" + smi,
                            "--tolerance", "memory=20%", "--junit", junit}),
                   {.environment = {"GITHUB_ACTIONS=true"}});
  CAPTURE(ran.out);
  CAPTURE(ran.err);
  CHECK(ran.status == 1);
  CHECK(ran.out.find("nvidia_smi_mb: the largest part is") != ran.out.npos);
  CHECK(says(ran, "the largest part is context and libraries"));
  CHECK(detail::text_of(junit).find("the largest part is context and libraries") !=
        std::string::npos);
}

TEST_CASE("cli: --from refuses what another card took") {
  if (skipped()) return;
  const Scratch scratch;
  const auto validated = [&](const char* text, const char* gpu) {
    const std::string smi = scratch.write("smi.csv", text);
    return run_plimsoll({"validate", "--model", "builtin:mlp", "--batch", "8", "--gpu", gpu,
                         "--from", "nvidia-smi=" + smi, "--tolerance", "memory=1000%"});
  };
  constexpr const char* kA100 = "name, memory.used [MiB]\nNVIDIA A100-SXM4-40GB, 812 MiB\n";
  for (const char* gpu : {"t4", "a100-sxm-80gb", "l4"}) {
    const Ran ran = validated(kA100, gpu);
    CAPTURE(ran.err);
    CHECK(ran.status == 3);
    CHECK(says(ran, "[E532]"));
    CHECK(says(ran, "NVIDIA A100-SXM4-40GB"));
  }
  CHECK(validated(kA100, "a100-sxm-40gb").status == 0);
  CHECK(validated("name, memory.used [MiB]\nTesla T4, 1 MiB\nNVIDIA L4, 2 MiB\n", "t4").status ==
        3);
}
