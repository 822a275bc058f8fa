#include "hwdb/framework.h"

#include <doctest/doctest.h>

#include <set>
#include <tuple>
#include <utility>

#include "hwdb/hwdb.h"
#include "hwdb/other_frameworks.h"

using namespace plimsoll;

namespace {

// The row that is taken where nothing is said of the loading of modules.
ContextRow row_of(const FrameworkProfile& profile, const char* device, const char* architecture) {
  return *choose_context(profile.context, {.device = device,
                                           .architecture = architecture,
                                           .cuda = profile.cuda,
                                           .usual = profile.usual_loading(profile.cuda)})
              .row;
}

}  // namespace

TEST_CASE("framework: PyTorch 2 as its sources say") {
  const FrameworkProfile profile = Hwdb::open()->framework("pytorch").value();
  CHECK(profile.execution == FrameworkProfile::Execution::kEager);
  CHECK(profile.allocator == FrameworkProfile::Allocator::kPytorchCaching);
  CHECK(profile.conv_policy == FrameworkProfile::ConvPolicy::kHeuristic);
  CHECK_FALSE(profile.workspace_limit);
  CHECK(profile.cublas_workspace.value == 8519680);
  CHECK(profile.policy.foreach_optimizer);
  CHECK(profile.policy.pool_keeps_indices);
  CHECK(profile.chooses_attention);
  CHECK(profile.policy.attention.row_padding == 32);
  CHECK(profile.zero_grad == ZeroGrad::kNone);
  CHECK(row_of(profile, "a100-sxm-40gb", "ampere-ga100").per_thread.value == 2048);
  CHECK(row_of(profile, "no such device", "nor such architecture").architecture == "any");
}

TEST_CASE("framework: a policy differs where the frameworks do") {
  const Hwdb hwdb = *Hwdb::open();
  const FrameworkProfile tf1 = hwdb.framework("tensorflow-1.15").value();
  CHECK(tf1.execution == FrameworkProfile::Execution::kGraph);
  CHECK(tf1.takes_whole_card);
  CHECK(tf1.workspace_limit->value == int64_t{4} << 30);
  CHECK_FALSE(tf1.policy.attention.memory_efficient);
  CHECK_FALSE(tf1.policy.pool_keeps_indices);
  CHECK_FALSE(tf1.policy.names_hold_values);
  const FrameworkProfile old = hwdb.framework("pytorch-1.4").value();
  CHECK(old.zero_grad == ZeroGrad::kKeep);
  CHECK_FALSE(old.policy.foreach_optimizer);
  CHECK(old.policy.names_hold_values);
  CHECK(old.cublas_workspace.value == 0);
  CHECK(hwdb.framework("torch7")->policy.first_layer_data_gradient);
  CHECK(row_of(*hwdb.framework("ideal"), "tesla-v100-pcie-16gb", "volta").high.value == 0);
}

TEST_CASE("framework: persistent norms are asked for by PyTorch and MXNet, not by TensorFlow") {
  const Hwdb hwdb = *Hwdb::open();
  CHECK(hwdb.framework("pytorch")->persistent_norm_since == parse_version("7.0.3"));
  CHECK(hwdb.framework("mxnet")->persistent_norm_since == parse_version("7.0.2"));
  CHECK_FALSE(hwdb.framework("tensorflow-1")->persistent_norm_since);
}

TEST_CASE("framework: persistent recurrent layers are asked for by PyTorch alone") {
  const Hwdb hwdb = *Hwdb::open();
  CHECK(hwdb.framework("pytorch")->persistent_recurrent_since == parse_version("7.2"));
  CHECK(hwdb.framework("pytorch")->small_recurrent_since == parse_version("8.2.1"));
  CHECK_FALSE(hwdb.framework("pytorch-1.4")->small_recurrent_since);
  CHECK_FALSE(hwdb.framework("tensorflow-2.2")->persistent_recurrent_since);
  CHECK_FALSE(hwdb.framework("mxnet")->persistent_recurrent_since);
}

TEST_CASE("framework: a built-in profile's name starts with its framework's") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  for (const std::string& id : hwdb->framework_ids()) {
    const auto profile = hwdb->framework(id);
    REQUIRE(profile.has_value());
    CAPTURE(id);
    CHECK((id == profile->framework || id.starts_with(profile->framework + "-")));
  }
}

TEST_CASE("framework: contexts name devices or architectures that devices have, none twice") {
  const Hwdb hwdb = *Hwdb::open();
  std::set<std::string> known = {"any"};
  Diagnostics warnings;
  for (const Device& device : hwdb.devices(warnings)) {
    known.insert(device.architecture);
    known.insert(device.id);
  }
  for (const std::string& id : hwdb.framework_ids()) {
    CAPTURE(id);
    std::set<std::tuple<std::string, std::string_view, std::string>> seen;
    const FrameworkProfile profile = hwdb.framework(id).value();
    for (const ContextRow& row : profile.context) {
      CAPTURE(row.architecture);
      CHECK(known.contains(row.architecture));
      const std::string since = row.cuda_since ? row.cuda_since->text() : "";
      const std::string before = row.cuda_before ? row.cuda_before->text() : "";
      CHECK(seen.emplace(row.architecture, row.loading ? name(*row.loading) : "",
                         since + "-" + before)
                .second);
    }
  }
}

TEST_CASE("framework: a context must be ordered and end with any") {
  const std::string text = Hwdb::open()->read("frameworks/ideal.json").value();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const size_t at = changed.find(from);
    REQUIRE(at != changed.npos);
    changed.replace(at, from.size(), to);
    return read_framework(changed, "ideal.json", "ideal");
  };
  CHECK(with("\"any\"", "\"any\""));
  CHECK(with("\"any\"", "\"volta\"").error()[0].code == "E402");
  CHECK(with("\"any\"", R"("any", "module_loading": "lazy")").error()[0].code == "E402");
  CHECK(with("\"any\"", R"("any", "cuda_before": "12")").error()[0].code == "E402");
  CHECK(with("\"low\": \"0 MiB\"", "\"low\": \"1 MiB\"").error()[0].code == "E402");
  CHECK(with("\"heuristic\"", "\"heuristics\"").error()[0].code == "E313");
}

TEST_CASE("framework: a context may hold for one loading of modules and some versions of CUDA") {
  const std::string text = Hwdb::open()->read("frameworks/ideal.json").value();
  const std::string_view anchor = "\"context\": [";
  const auto with = [&](const std::string& keys) {
    std::string changed = text;
    const size_t at = changed.find(anchor);
    REQUIRE(at != changed.npos);
    changed.insert(at + anchor.size(),
                   "{\"architecture\": \"volta\", " + keys +
                       R"(, "plain": "2 MiB", "with_cudnn": "3 MiB", "low": "1 MiB",
                          "high": "4 MiB", "source": "by hand"},)");
    return read_framework(changed, "ideal.json", "ideal");
  };
  const auto read = with(R"("module_loading": "lazy", "cuda_since": "11.7", "cuda_before": "13.1",
                            "inference": "1 MiB")");
  REQUIRE(read);
  const ContextRow& row = read->context.front();
  CHECK(row.loading == ModuleLoading::kLazy);
  CHECK(row.cuda_since == parse_version("11.7"));
  CHECK(row.cuda_before == parse_version("13.1"));
  CHECK(row.inference->value == 1 << 20);
  CHECK(std::any_of(read->figures.begin(), read->figures.end(),
                    [](const FigureNote& note) { return note.name == "context.volta.lazy"; }));
  CHECK_FALSE(with(R"("inference": "2 MiB")")->context.front().loading);
  const auto code = [&](const std::string& keys) { return with(keys).error()[0].code; };
  CHECK(code(R"("module_loading": "LAZY")") == "E313");
  CHECK(code(R"("cuda_since": "new")") == "E401");
  CHECK(code(R"("cuda_since": 12)") == "E311");
  CHECK(code(R"("cuda_since": "12", "cuda_before": "12.0")") == "E402");
  CHECK(code(R"("inference": "1 KiB")") == "E402");  // below low
  CHECK(code(R"("inference": "4 MiB")") == "E402");  // above with_cudnn
  CHECK(code(R"("loading": "lazy")") == "E304");
}

TEST_CASE("framework: a version has the libraries that its binaries were built with") {
  const Hwdb hwdb = *Hwdb::open();
  const auto libraries = [&](const char* name) {
    const FrameworkProfile profile = hwdb.framework(name).value();
    return std::pair(profile.cudnn.text(), profile.cuda.text());
  };
  CHECK(libraries("tensorflow-0.10") == std::pair<std::string, std::string>("4.0", "7.5"));
  CHECK(libraries("tensorflow-0.5") == std::pair<std::string, std::string>("4.0", "7.5"));
  CHECK(libraries("tensorflow-1.3") == std::pair<std::string, std::string>("6.0", "8.0"));
  CHECK(libraries("tensorflow-1.15") == std::pair<std::string, std::string>("7.4", "10.0"));
  CHECK(libraries("cntk-2.0") == std::pair<std::string, std::string>("5.1", "8.0"));
  CHECK(libraries("cntk") == std::pair<std::string, std::string>("7.3.1", "10.0"));
}

TEST_CASE(
    "framework: TensorFlow's programs run in their own layout until its graph optimiser turns "
    "them") {
  const Hwdb hwdb = Hwdb::open().value();
  CHECK(hwdb.framework("tensorflow-0.10")->channels_last);
  CHECK(hwdb.framework("tensorflow-1.3")->channels_last);
  CHECK_FALSE(hwdb.framework("tensorflow-1.6")->channels_last);
  CHECK_FALSE(hwdb.framework("tensorflow-1.15")->channels_last);
  CHECK_FALSE(hwdb.framework("mxnet-0.11")->channels_last);
}

TEST_CASE("framework: Theano takes products, Torch7 has no workspace where it guesses") {
  const Hwdb hwdb = *Hwdb::open();
  CHECK(hwdb.framework("theano")->conv_policy == FrameworkProfile::ConvPolicy::kProducts);
  const FrameworkProfile torch = hwdb.framework("torch7").value();
  CHECK(torch.guess_limit->value == 0);
  CHECK_FALSE(torch.workspace_limit);
}

TEST_CASE("framework: a version is written in many ways") {
  for (const char* written : {"pytorch-2.1", "PyTorch 2.1", "pytorch==2.1", "pytorch2.1",
                              "pytorch@v2.1", "torch_2.1", "torch: 2.1"}) {
    CAPTURE(written);
    const auto found = Hwdb::open()->framework(written);
    REQUIRE(found);
    CHECK(found->framework == "pytorch");
    CHECK(found->asked.text() == "2.1");
  }
  CHECK(framework_name("torch-7") == "torch-7");
  CHECK(framework_name("tensorflow-1.15.2") == "tensorflow-1.15.2");
  CHECK(framework_name("caffe2") == "caffe2");
}

TEST_CASE("framework: of one that is not modelled it is said why") {
  for (const auto& [name, says] :
       {std::pair("jax", "XLA"), std::pair("keras", "give tensorflow or pytorch"),
        std::pair("pytorch-lightning", "give pytorch"), std::pair("deepspeed", "give pytorch"),
        std::pair("paddle", "its allocator and its kernels"),
        std::pair("TensorRT", "trained networks")}) {
    const auto refused = Hwdb::open()->framework(name);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().front().code == "E143");
    CHECK(refused.error().front().help.find(says) != std::string::npos);
  }
}
