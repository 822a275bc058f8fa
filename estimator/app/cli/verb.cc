#include "estimator/app/cli/verb.h"

namespace plimsoll::cli {

// Each in a file of its name; the lists of what hwdb holds are in lists.cc.
Verb make_estimate(const FlagSet& root);
Verb make_max_batch(const FlagSet& root);
Verb make_advise(const FlagSet& root);
Verb make_sweep(const FlagSet& root);
Verb make_compare(const FlagSet& root);
Verb make_validate(const FlagSet& root);
Verb make_share(const FlagSet& root);
Verb make_check(const FlagSet& root);
Verb make_workspace(const FlagSet& root);
Verb make_explain(const FlagSet& root);
Verb make_gpus(const FlagSet& root);
Verb make_links(const FlagSet& root);
Verb make_hosts(const FlagSet& root);
Verb make_frameworks(const FlagSet& root);
Verb make_models(const FlagSet& root);
Verb make_ops(const FlagSet& root);
Verb make_schema(const FlagSet& root);
Verb make_completion(const FlagSet& root);
Verb make_version(const FlagSet& root);

namespace {

constexpr VerbRow kVerbs[] = {
    {"estimate",
     make_estimate,
     "peak memory and step time of a model: does it fit?",
     {"plimsoll estimate builtin:resnet50 --gpu rtx-4090 --batch 128",
      "plimsoll estimate model.onnx --gpu a100 --dim sequence=512 --optimizer adamw"}},
    {"max-batch",
     make_max_batch,
     "the largest batch, sequence or image that fits",
     {"plimsoll max-batch model.onnx --gpu tesla-t4 --multiple 8 --reserve 1GiB"}},
    {"advise",
     make_advise,
     "changes that make it fit; how several GPUs should share it",
     {"plimsoll advise hf:Qwen/Qwen3-8B --gpu rtx-4090 --batch 8 --optimizer adamw"}},
    {"sweep",
     make_sweep,
     "all configurations of a plan: which fit, which are best",
     {"plimsoll sweep examples/sweep.yaml"}},
    {"compare",
     make_compare,
     "models on several GPUs, or two saved answers",
     {"plimsoll compare builtin:resnet50 --batch 64 --gpu tesla-t4 --gpu l4"}},
    {"validate",
     make_validate,
     "predictions compared with runs that you measured",
     {"plimsoll validate runs.csv --tolerance memory=10% --tolerance time=15%"}},
    {"share",
     make_share,
     "a file of your measured runs for the project",
     {"plimsoll share run.json --out shared.json"}},
    {"check",
     make_check,
     "errors in models, plans and files of measured runs",
     {"plimsoll check model.onnx plan.yaml runs.csv"}},
    {"workspace",
     make_workspace,
     "algorithms and workspace of convolutions in cuDNN",
     {"plimsoll workspace --gpu quadro-p4000 --cudnn 9.10 < problems.jsonl"}},
    {"explain",
     make_explain,
     "a message, a layer, or the difference of two figures",
     {"plimsoll explain E241", "plimsoll explain layer1.0.conv1 builtin:resnet50 --gpu tesla-t4"}},
    {"gpus",
     make_gpus,
     "the known GPUs, or the data of one with their sources",
     {"plimsoll gpus tesla-t4"}},
    {"links", make_links, "the known links between GPUs and machines"},
    {"hosts", make_hosts, "the known machines: CPU, memory, links"},
    {"frameworks", make_frameworks, "the known frameworks and their versions"},
    {"models",
     make_models,
     "built-in models, and known Hugging Face configs",
     {"plimsoll models gpt2"}},
    {"ops", make_ops, "the known operators, each with an example", {"plimsoll ops Conv"}},
    {"schema", make_schema, "JSON Schemas of inputs and outputs", {"plimsoll schema estimate"}},
    {"completion",
     make_completion,
     "completion of commands for bash, zsh or fish",
     {"plimsoll completion bash > ~/.local/share/bash-completion/completions/plimsoll"}},
    {"version", make_version, "version of the program and of its data"},
};

}  // namespace

std::span<const VerbRow> all_verbs() { return kVerbs; }

}  // namespace plimsoll::cli
