// The program as users meet it: verbs, flags, exit statuses, and rows C1, C2 and F1 to F16 of the
// catalogue of bad inputs.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;
using namespace std::string_literals;

namespace {

struct Row {
  const char* name;
  std::vector<std::string> arguments;
  int status;
  const char* code;     // in the first line of standard error; empty: nothing is said there
  const char* message;  // somewhere on standard error
};

const std::string kRuns = std::string(PLIMSOLL_SOURCE_DIR) + "/examples/measured-runs.csv";
const std::string kPlan = std::string(PLIMSOLL_SOURCE_DIR) + "/examples/sweep.yaml";
const std::string kNet = "builtin:squeezenet1_0";

// estimate kNet --gpu l4 and more.
// 32 heads of queries, 8 of keys and values.
std::vector<std::string> split_llama(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {
      "estimate", "hf:meta-llama/Llama-3.2-1B", "--gpu", "h100", "--gpus", "16", "--tp", "16"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> estimate(std::vector<std::string> more) {
  more.insert(more.begin(), {"estimate", kNet, "--gpu", "l4"});
  return more;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// An estimate of a translator with --lengths, each list a flag.
std::vector<std::string> lengths(const std::vector<std::string>& lists) {
  std::vector<std::string> arguments = {"estimate", "builtin:seq2seq-sockeye", "--gpu", "l4"};
  for (const std::string& list : lists) {
    arguments.push_back("--lengths");
    arguments.push_back(list);
  }
  return arguments;
}

const std::vector<Row> kRows = {
    {"F1", {}, 2, "", "plimsoll estimate builtin:"},
    {"F2", {"estmate", "x"}, 2, "E101", "did you mean estimate?"},
    {"F2", estimate({"--batc", "3"}), 2, "E101", "did you mean --batch?"},
    {"F2", {"--batch", "3"}, 2, "E101", "options follow the command"},
    {"F2", estimate({"extra"}), 2, "E101", "unknown argument extra"},
    {"F2", {"estimate", "--gpu", "l4"}, 2, "E108", "which model?"},
    {"F2", {"estimate", kNet}, 2, "E109", "plimsoll gpus"},
    {"F2", {"max-batch", kNet}, 2, "E109", "plimsoll max-batch builtin:"},
    {"F2", {"compare", kNet}, 2, "E109", "plimsoll compare builtin:"},
    {"F2", {"sweep"}, 2, "E108", "plimsoll sweep plan.yaml"},
    {"F2", {"validate"}, 2, "E108", "name their files"},
    {"F2", {"explain"}, 2, "E108", "plimsoll explain E241"},
    {"F2", {"explain", "E999"}, 2, "E153", "did you mean"},
    {"F2", {"explain", "features.O", kNet, "--gpu", "l4"}, 2, "E153", "did you mean features.0?"},
    {"F2", {"explain", "allocate,reserved", kNet, "--gpu", "l4"}, 2, "E106", "mean allocated?"},
    {"F2", {"schema", "estimat"}, 2, "E152", "max-batch, measured-run, model-config, monitor"},
    {"F2", {"ops", "Conf"}, 2, "E151", "did you mean Conv?"},
    {"F2", {"models", "resnt50"}, 2, "E150", "did you mean resnet50?"},
    {"F2", {"links", "pcie3-x16"}, 2, "E142", "pcie-3-x16"},
    {"F2", {"frameworks", "pytroch"}, 2, "E143", "nearest: pytorch"},
    {"F2", {"estimate", "builtin:resnet5", "--gpu", "l4"}, 2, "E150", "did you mean resnet50?"},
    {"F2", estimate({"--freeze", "featurs.*"}), 3, "E262", "nearest is 'features."},
    {"F2", estimate({"--freeze", "*", "--train", "features"}), 3, "E262", "'features.*'"},
    {"F2", estimate({"--freeze", "*", "--strict"}), 3, "W230", "weights are frozen"},
    {"F3", estimate({"--batch", "0"}), 2, "E103", "from 1 to"},
    {"F3", estimate({"--batch", "-1"}), 2, "E103", "found '-1'"},
    {"F3", estimate({"--batch", "1e3"}), 2, "E103", "found '1e3'"},
    {"F3", estimate({"--batch", "1_000"}), 2, "E103", "found '1_000'"},
    {"F3", estimate({"--batch", "010"}), 2, "E103", "leading zeros"},
    {"F3", estimate({"--batch", "0x10"}), 2, "E103", "found '0x10'"},
    {"F3", estimate({"--batch", "9e99"}), 2, "E103", "found '9e99'"},
    {"F3", estimate({"--batch", ""}), 2, "E102", "--batch needs a value"},
    {"F3", estimate({"--batch="}), 2, "E102", "--batch needs a value"},
    {"F3", estimate({"--batch", "nan"}), 2, "E103", "found 'nan'"},
    {"F3", estimate({"--batch", "99999999999999999999999"}), 2, "E103", "from 1 to 2147483648"},
    {"F3", estimate({"--batch", " 8"}), 2, "E103", "found ' 8'"},
    {"F3", estimate({"--dropout", "nan"}), 2, "E103", "found 'nan'"},
    {"F3", estimate({"--dropout", "1e400"}), 2, "E103", "from 0 to 1"},
    {"F4", estimate({"--mem", "24G"}), 2, "E104", "write 24GB (decimal) or 24GiB (binary)"},
    {"F4", estimate({"--mem", "-1GB"}), 2, "E104", "decimal number"},
    {"F4", estimate({"--mem", "99999999EiB"}), 2, "E104", "more than 4 EiB"},
    {"F4", estimate({"--mem", "24gb"}), 0, "", ""},
    {"F4", estimate({"--mem", "0GiB"}), 2, "E104", "the capacity is zero"},
    {"F4", estimate({"--mem", "24GB"}), 0, "", ""},
    {"F4", estimate({"--mem", "24 GB"}), 0, "", ""},
    {"F4", estimate({"--mem", "7.5GiB"}), 0, "", ""},
    {"F5", estimate({"--batch", "3", "--batch", "4"}), 2, "E114", "given twice: 3 and 4"},
    {"F5", estimate({"--batch", "3", "--batch=3"}), 0, "", ""},
    {"F6", estimate({"--gpu", "t4"}), 2, "E114", "'plimsoll compare' takes several"},
    {"F7", {"estimate", "--dim", "width=224", kNet, "--gpu", "l4"}, 0, "", ""},
    {"F7", {"estimate", "--gpu", "t4,l4", kNet}, 2, "E140", "unknown GPU \"t4,l4\""},
    {"F8", {"estimate", "--gpu", "l4", "--", "-x.onnx"}, 4, "E601", "-x.onnx: error: no such file"},
    {"F8", {"estimate", "--gpu", "l4", "--", "--help"}, 4, "E601", "--help: error: no such file"},
    {"F9", estimate({"a\nb::error ::\x1b[2J\xff"}), 2, "E101", "a\\nb::error ::\\x1b[2J\\xff"},
    {"F9", estimate(std::vector<std::string>(100'000, "x")), 2, "E101", "and 99980 more"},
    {"F10", {"estimate", "@args.txt"}, 2, "E101", "not read from files"},
    {"C1", {"gpus", "rtx4900"}, 2, "E140", "rtx-4090"},
    {"C1", {"gpus", "zzz"}, 2, "E140", "'plimsoll gpus' lists"},
    {"C2", {"gpus", "80gb"}, 2, "E141", "a100-pcie-80gb"},
    {"C1", {"estimate", kNet, "--gpu", "mi300x"}, 2, "E145", "AMD GPUs"},
    {"C1", {"estimate", kNet, "--gpu", "NVIDIA A100-SXM4-40GB"}, 0, "", ""},
    {"C1",
     {"estimate", kNet, "--gpu", "NVIDIA GeForce RTX 3080", "--strict"},
     3,
     "W405",
     "rtx-3080-12gb"},
    {"C11", {"estimate", kNet, "--gpu", "a100:3g.20gb"}, 0, "", ""},
    {"C11", {"max-batch", kNet, "--gpu", "a100:3g.20gb", "--max", "8"}, 0, "", ""},
    {"C11", {"estimate", kNet, "--gpu", "a100:9g.90gb"}, 2, "E148", "it has 1g.5gb"},
    {"C11", {"estimate", kNet, "--gpu", "l4:1g.5gb"}, 2, "E148", "cannot be partitioned"},
    {"tp", split_llama({}), 2, "E120", "nearest that works: --tp 8"},  // heads of keys and values
    {"tp", split_llama({"--finetune", "qlora"}), 2, "E120",
     "no library that trains splits quantized weights"},
    {"files", {"gpus", "--file"}, 2, "E108", "plimsoll gpus tesla-t4 --file"},
    {"files", {"estimate", kNet, "--gpu", "no/such.json"}, 4, "E601", "no such file"},
    {"files", {"estimate", kNet, "--gpu", kPlan}, 3, "E301", "sweep.yaml"},
    {"dims", estimate({"--dim", "hieght=5"}), 2, "E113", "did you mean height?"},
    {"dims", estimate({"--dim", "height"}), 2, "E105", "NAME=VALUE"},
    {"dims",
     {"estimate", "builtin:bert-base", "--gpu", "l4", "--image", "3"},
     2,
     "E113",
     "no dimension 'image'"},
    {"dims", estimate({"--set", "x=1"}), 2, "E134", "--dim NAME=N"},
    {"words", estimate({"--precision", "fp17"}), 2, "E106", "did you mean fp16?"},
    {"words", estimate({"--optimizer", "adamW2"}), 2, "E106", "did you mean adamw?"},
    {"words", estimate({"--optimizer", "adamw_torch_fused"}), 2, "E106", "mean adamw-fused?"},
    {"words", estimate({"--optimizer", "paged_adamw_8bit"}), 2, "E106", "mean adam8bit?"},
    {"words", estimate({"--precision", "bf16-mixed"}), 2, "E106", "did you mean amp-bf16?"},
    {"words", estimate({"--precision", "half"}), 2, "E106", "did you mean fp16?"},
    {"words", estimate({"--conv-algo", "magic"}), 2, "E106", "WINOGRAD"},
    {"words", estimate({"--limit", "node=3"}), 2, "E110", "did you mean 'nodes'?"},
    {"words", estimate({"--cudnn", "new"}), 2, "E103", "such as 7.6"},
    {"words", estimate({"--cuda", "new"}), 2, "E103", "such as 12.8"},
    {"words", estimate({"--module-loading", "lasy"}), 2, "E106", "did you mean lazy?"},
    {"words", estimate({"--module-loading", "lazy", "--cuda", "11.6"}), 2, "E162", "11.7"},
    {"words", estimate({"--module-loading", "eager"}), 0, "", ""},
    {"words", estimate({"--allocator", "split:3"}), 2, "E161", "max_split_size_mb:128"},
    {"dims", estimate({"--longest", "words=9"}), 2, "E113", "--longest"},
    {"lengths", lengths({"source=20:0.5,40:1.5", "target=22:0.5,44:1.5"}), 0, "", ""},
    {"lengths", lengths({"source=20,40,60"}), 0, "", ""},
    {"lengths", lengths({"source="}), 2, "E103", "found ''"},
    {"lengths", lengths({"source=20,"}), 2, "E103", "found ''"},
    {"lengths", lengths({"source=2e1"}), 2, "E103", "found '2e1'"},
    {"lengths", lengths({"source=20:"}), 2, "E103", "a share must be a number"},
    {"lengths", lengths({"source=20:0"}), 2, "E103", "a share must be a number"},
    {"lengths", lengths({"source=20:1:2"}), 2, "E103", "found '1:2'"},
    {"lengths", lengths({"source=20,40", "source=20,40"}), 2, "E114", "given twice"},
    {"lengths", lengths({"source=20:1,40:2", "target=22:1"}), 2, "E115", "source"},
    {"lengths", lengths({"source=20:1,40:2", "target=22:1,44:1"}), 2, "E115", "same shares"},
    {"lengths", lengths({"source=1" + repeated(",1", 256)}), 2, "E115", "at most 256"},
    {"lengths", lengths({"words=9,7"}), 2, "E113", "--lengths"},
    {"lengths", estimate({"--lengths", "height=224", "--dim", "height=5"}), 2, "E114", "exclude"},
    {"lengths",
     {"explain", "features.0", kNet, "--gpu", "l4", "--lengths", "height=224,448"},
     2,
     "E114",
     "--dim NAME=N"},
    {"numbers", {"max-batch", kNet, "--gpu", "l4", "--confidence", "1"}, 2, "E103", "0.99"},
    {"words", estimate({"--workers", "4", "--framework", "mxnet"}), 2, "E112", "threads"},
    {"effect", estimate({"--mode", "inference", "--optimizer", "adam"}), 0, "W516", "--optimizer"},
    {"effect", estimate({"--mode", "inference", "--weight-decay"}), 0, "W516", "--weight-decay"},
    {"effect", estimate({"--mode", "inference", "--accumulate", "4"}), 0, "W516", "no gradients"},
    {"effect", estimate({"--mode", "inference", "--loss", "mse"}), 0, "W516", "no loss"},
    {"effect", estimate({"--mode", "inference", "--checkpoint", "blocks"}), 0, "W516", "keeps"},
    {"effect", estimate({"--mode", "inference", "--zero-grad", "after"}), 0, "W516", "gradients"},
    {"effect", estimate({"--mode", "inference", "--freeze", "*"}), 0, "W516", "trains nothing"},
    {"effect", estimate({"--link", "pcie-3-x16"}), 0, "W516", "--gpus N"},
    {"effect",
     {"estimate", "builtin:a3c", "--gpu", "l4", "--epochs", "9"},
     0,
     "W516",
     "--samples N"},
    {"output", estimate({"--json", "--csv"}), 2, "E114", "exclude each other"},
    {"output", estimate({"--color", "sometimes"}), 2, "E106", "auto, always, never"},
    {"output", estimate({"--json", "--wide"}), 0, "W516", "no effect on --json"},
    {"price",
     {"compare", kNet, "--gpu", "l4", "--price", "t4=1"},
     2,
     "E118",
     "no answer is for that GPU"},
    {"price", {"compare", kNet, "--gpu", "l4", "--price", "l4=-1"}, 2, "E103", "--price l4"},
    {"effect", estimate({"--recurrent", "unrolled"}), 0, "W516", "no recurrent layer"},
    {"effect", estimate({"--attention", "math"}), 0, "W516", "no attention"},
    {"effect", estimate({"--link", "pcie-3-x16", "--strict"}), 3, "W516", "--gpus N"},
    {"effect", {"estimate", "builtin:mlp", "--gpu", "l4", "--conv-algo", "FFT"}, 0, "W516", "conv"},
    {"effect",
     {"max-batch", kNet, "--gpu", "l4", "--batch", "4", "--max", "8"},
     0,
     "W516",
     "batch"},
    {"effect", estimate({"--framework", "caffe", "--cudnn-benchmark", "on"}), 2, "E116", "caffe"},
    {"effect", estimate({"--framework", "torch7", "--allocator", "x:y"}), 2, "E161", "torch7"},
    {"effect", estimate({"--compile", "--framework", "mxnet"}), 2, "E116", "no such compiler"},
    {"effect",
     {"compare", kNet, "--gpu", "l4", "--gpu", "quadro-p4000", "--compile"},
     2,
     "E116",
     "Triton"},
    {"effect", {"max-batch", kNet, "--gpu", "t4", "--compile", "--max", "8"}, 0, "", ""},
    {"effect", estimate({"--attention", "fused", "--framework", "mxnet"}), 2, "E116", "mxnet"},
    {"effect", estimate({"--assume", "Nope=FREE"}), 2, "E118", "no such operator"},
    {"effect", estimate({"--assume", "Conv=FREE"}), 0, "W516", "is known"},
    {"versions", estimate({"--cudnn", "97.3"}), 2, "E163", "cudnn 97.3"},
    {"versions", estimate({"--cuda", "55"}), 2, "E163", "cuda 55"},
    {"versions", estimate({"--framework", "pytorch-9"}), 2, "E163", "nearest: 2."},
    {"words", estimate({"--error-format", "xml"}), 2, "E106", "text, json"},
    {"tolerance", {"validate", kRuns, "--tolerance", "memory=10%"}, 0, "", ""},
    {"tolerance", {"validate", kRuns, "--tolerance", "memory=1%"}, 1, "", ""},
    {"limits", estimate({"--limit", "nodes=3"}), 5, "E802", "--limit nodes=N"},
    {"verdict", estimate({"--mem", "256MiB"}), 1, "", ""},
    {"verdict", estimate({"--reserve", "22GiB"}), 1, "", ""},
    {"verdict", estimate({"--display", "22GiB"}), 1, "", ""},
    {"verdict", {"max-batch", kNet, "--gpu", "l4", "--mem", "256MiB"}, 1, "", ""},
    {"verdict", {"compare", kNet, "--gpu", "l4", "--gpu", "t4", "--mem", "256MiB"}, 1, "", ""},
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

TEST_CASE("cli: each command line has its status, its code and its next step") {
  if (skipped()) return;
  for (const Row& row : kRows) {
    const Ran ran = run_plimsoll(row.arguments);
    const std::string last = row.arguments.empty() ? "" : row.arguments.back();
    CAPTURE(std::string(row.name));
    CAPTURE(last.substr(0, 60));
    CAPTURE(ran.err.substr(0, 400));
    CHECK(ran.status == row.status);
    CHECK(ran.err.find(row.message) != std::string::npos);
    CHECK(plain(ran.err));
    if (*row.code) {
      CHECK(first_line(ran.err).ends_with("["s + row.code + "]"));
      CHECK(ran.out.empty() == (row.status != 0));  // a warning leaves the answer
    }
  }
}

// Rows C3, C4 and C6: what is doubtful about the card is said beside the answer.
TEST_CASE("cli: warnings about the card stand beside the answer, and --strict makes them errors") {
  if (skipped()) return;
  const Scratch scratch;
  const auto gigabytes = [&] {
    std::filesystem::create_directory(scratch.path("devices"));
    std::string text = detail::text_of(std::string(PLIMSOLL_SOURCE_DIR) + "/hwdb/devices/l4.json");
    const std::string from = "\"23034 MiB\"";
    text.replace(text.find(from), from.size(), "\"24 GB\"");
    scratch.write("devices/l4.json", text);
    return scratch.path("");
  }();
  using Flags = std::vector<std::string>;
  const std::vector<std::pair<Flags, const char*>> kDoubts = {
      {{"--gpu", "NVIDIA GeForce RTX 3080"}, "[W405]"},
      {{"--gpu", "t4", "--precision", "amp-bf16"}, "[W402]"},
      {{"--gpu", "l4", "--hwdb", gigabytes}, "[N401]"},
      {{"--gpu", "l4", "--hwdb", gigabytes}, "24 GB = 22.35 GiB [W401]"},
  };
  for (const auto& doubt : kDoubts) {
    std::vector<std::string> arguments = {"estimate", kNet};
    arguments.insert(arguments.end(), doubt.first.begin(), doubt.first.end());
    CAPTURE(doubt.second);
    const Ran ran = run_plimsoll(arguments);
    CHECK(ran.status == 0);
    CHECK(ran.err.find(doubt.second) != std::string::npos);
    CHECK(ran.out.starts_with("FITS"));
    arguments.emplace_back("--strict");
    CHECK(run_plimsoll(arguments).status == 3);
  }
}

TEST_CASE("cli: the first line answers") {
  if (skipped()) return;
  const Ran fits = run_plimsoll({"estimate", kNet, "--gpu", "l4"});
  CHECK(fits.out.starts_with("FITS   peak "));
  CHECK(fits.out.find("\ngpu: ") != std::string::npos);
  CHECK(fits.out.find("assumed: batch 32. --batch N changes it.") != std::string::npos);
  const Ran not_fits = run_plimsoll({"estimate", kNet, "--gpu", "l4", "--mem", "256MiB"});
  CHECK(not_fits.out.starts_with("DOES NOT FIT   peak "));
  CHECK(not_fits.out.find("what would help") != std::string::npos);
  CHECK(not_fits.out.find("\x1b") == std::string::npos);
  const Ran coloured =
      run_plimsoll({"estimate", kNet, "--gpu", "l4", "--mem", "256MiB", "--color", "always"});
  CHECK(coloured.out.starts_with("\x1b[31mDOES NOT FIT\x1b[0m   peak "));
  const Ran quiet = run_plimsoll({"estimate", kNet, "--gpu", "l4", "--quiet"});
  CHECK(quiet.status == 0);
  CHECK(std::ranges::count(quiet.out, '\n') == 3);
}

TEST_CASE("cli: messages as JSON, one object a line") {
  if (skipped()) return;
  for (const auto& flag : {std::vector<std::string>{"--error-format", "json"},
                           std::vector<std::string>{"--error-format=json"}}) {
    std::vector<std::string> arguments = {"estimate", kNet, "--batc"};
    arguments.insert(arguments.begin() + 1, flag.begin(), flag.end());
    const Ran ran = run_plimsoll(arguments);
    CHECK(ran.status == 2);
    CHECK(ran.err.starts_with("{\"code\":\"E101\",\"severity\":\"error\",\"message\":"));
    CHECK(std::count(ran.err.begin(), ran.err.end(), '\n') == 1);
  }
}

// Row F13 and F14.
TEST_CASE("cli: the same bytes in any locale, terminal and folder") {
  if (skipped()) return;
  const std::vector<std::string> asked = {"estimate", kNet, "--gpu", "l4", "--layers", "--json"};
  const Ran plainly = run_plimsoll(asked);
  REQUIRE(plainly.status == 0);
  const Scratch elsewhere;
  for (const std::vector<std::string>& environment :
       {std::vector<std::string>{"LC_ALL=de_DE.UTF-8"},
        {"LC_ALL=tr_TR.UTF-8"},
        {"LC_ALL=nonsense"},
        {"TERM=dumb", "NO_COLOR=1", "CI=true", "COLUMNS=0"},
        {"HOME=/nonexistent"}}) {
    const Ran ran = run_plimsoll(asked, {.environment = environment, .folder = elsewhere.path("")});
    CAPTURE(environment.front());
    CHECK(ran.status == 0);
    CHECK(ran.out == plainly.out);
  }
}

// Rows F15 and F16, G6 and G7.
TEST_CASE("cli: closed descriptors, full disks and tight limits are no crashes") {
  if (skipped()) return;
  const std::vector<std::string> asked = {"estimate", kNet, "--gpu", "l4"};
  const Ran full = run_plimsoll(asked, {.out = "/dev/full"});
  CHECK(full.status == 4);
  CHECK(full.err.find("No space left on device [E612]") != std::string::npos);
  const Ran no_output = run_plimsoll(asked, {.closed = {1}});
  CHECK(no_output.status == 4);
  CHECK(no_output.err.find("[E612]") != std::string::npos);
  CHECK(run_plimsoll(asked, {.closed = {0}}).status == 0);
  CHECK(run_plimsoll(asked, {.closed = {2}}).status == 0);
  CHECK(run_plimsoll({"estimate", "nosuch.onnx", "--gpu", "l4"}, {.closed = {2}}).status == 4);
  CHECK(run_plimsoll(asked, {.stack = 256 << 10}).status == 0);
  CHECK(run_plimsoll(asked, {.descriptors = 4}).status == 0);
  std::string many = "[0";
  for (int i = 0; i < 3'000'000; ++i) many += ",0";
  const Ran starved = run_plimsoll({"estimate", "-", "--gpu", "h200"},
                                   {.input = many + "]", .address_space = rlim_t{64} << 20});
  CHECK(starved.status == 5);
  CHECK(starved.err.find("[E801]") != std::string::npos);
}
