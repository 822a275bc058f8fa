#include "estimator/app/sweep/sweep.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "estimator/answer/effects.h"
#include "estimator/answer/platform_notes.h"
#include "estimator/app/sweep/sweep_bundles.h"
#include "estimator/app/sweep/sweep_family.h"
#include "estimator/app/sweep/sweep_variant.h"
#include "estimator/app/sweep/sweep_warnings.h"
#include "estimator/estimator.h"
#include "graph/base/try.h"
#include "graph/base/work_in_order.h"

namespace plimsoll {
namespace {

constexpr int64_t kBlock = 128;          // points of sizes that are priced together
constexpr size_t kMostHeld = 2'000'000;  // events of replays that are kept for the next device

// One point of one variant while its block is worked on.
struct Entry {
  SweepPoint answer;
  const SweepVariant* variant = nullptr;
  SweepModel* compiled = nullptr;  // null where the point failed
  size_t at = 0;                   // of the block
  StepTimeInput conditions{};
  std::optional<StepSum> sum{};
  std::optional<TimeContext> context{};  // where the card limits what algorithms there are
  StepEvidence evidence{};
};

// What a block of a bundle's points comes to.
struct BlockAnswer {
  std::vector<SweepPoint> points;
  SweepWarnings warnings;            // of what was compiled for it
  std::optional<Diagnostics> fault;  // which ends the sweep
};

class Sweeper {
 public:
  Sweeper(std::span<const SizeAxis> sizes, const Hwdb& hwdb, const SweepOptions& options)
      : sizes_(sizes), hwdb_(hwdb), options_(options) {}

  // The points from `first` to before `last`.
  BlockAnswer block(const SweepBundle& bundle, int64_t first, int64_t last) {
    block_ = {};
    replays_.clear();
    held_ = 0;
    Result<void> done;
    if (prepared_.empty() || prepared_.front().front().index != bundle.front().index)
      done = begin(bundle);
    for (size_t i = 0; done && i < bundle.size(); ++i) {
      variants_ = prepared_[i];
      done = run_block(first, last);
    }
    if (!done) block_.fault = std::move(done.error());
    return std::move(block_);
  }

 private:
  Result<void> begin(const SweepBundle& bundle) {
    Request family = family_of(bundle.front().variants.front());
    if (!family_ || family_->request != family) family_.emplace(std::move(family));
    prepared_.clear();
    for (const SweepGroup& group : bundle) {
      auto prepared = prepare(group);
      if (!prepared) {
        prepared_.clear();
        return tl::make_unexpected(std::move(prepared.error()));
      }
      prepared_.push_back(std::move(*prepared));
    }
    return {};
  }

  Result<std::vector<SweepVariant>> prepare(const SweepGroup& group) {
    size_t index = group.index;
    std::vector<SweepVariant> variants;
    for (const Request& request : group.variants) {
      auto stages = TRY(variants_of(index, request, hwdb_));
      for (SweepVariant& variant : stages) {
        if (variant.evaluator && !variant.further)
          block_.warnings.add(
              platform_warnings(variant.evaluator->platform(), *request.recipe.precision));
        variants.push_back(std::move(variant));
      }
      ++index;
    }
    return variants;
  }

  Result<void> run_block(int64_t first, int64_t last) {
    std::vector<Entry> entries;
    const size_t before = block_.points.size();
    for (const SweepVariant& variant : variants_) {
      if (family_->models.events() > options_.most_events) {
        answer(entries);
        replays_.clear();
        family_.emplace(Request(family_->request));
      }
      for (int64_t point = first; point < last; ++point) {
        auto known = options_.known ? options_.known(variant.index, point) : std::nullopt;
        if (known && variant.further) continue;
        Entry& entry = entries.emplace_back();
        entry.variant = &variant;
        if (known) {
          entry.answer = std::move(*known);
          continue;
        }
        entry.answer.variant = variant.index;
        entry.answer.point = point;
        entry.at = static_cast<size_t>(point - first);
        if (auto planned = plan(variant, entry); !planned) {
          if (!is_of_one_point(planned.error())) return planned;
          entry.answer.failure = std::move(planned.error());
          entry.compiled = nullptr;
        }
      }
    }
    answer(entries);
    for (size_t i = before; i < block_.points.size(); ++i) {
      SweepPoint& point = block_.points[i];
      const auto of_point = std::ranges::find(variants_, point.variant, &SweepVariant::index);
      if (!of_point->evaluator) continue;
      join_stages(of_point->evaluator->platform().parallel.mesh.extent(Axis::kStage), point);
    }
    return {};
  }

  void answer(std::vector<Entry>& entries) {
    if (options_.time) add_times(entries);
    for (Entry& entry : entries) {
      if (entry.variant->further) {
        add_stage(entry.answer, first_stage_of(entry.answer));
      } else {
        block_.points.push_back(std::move(entry.answer));
      }
    }
    entries.clear();
  }

  // It has been answered, with others behind it.
  SweepPoint& first_stage_of(const SweepPoint& stage) {
    return *std::find_if(block_.points.rbegin(), block_.points.rend(), [&](const SweepPoint& p) {
      return p.variant == stage.variant && p.point == stage.point;
    });
  }

  // The model at a point, and what it takes of the device.
  Result<void> plan(const SweepVariant& variant, Entry& entry) {
    if (!variant.evaluator) {
      entry.answer.device_id = TRY(hwdb_.device(variant.request.devices.front())).id;
      return tl::make_unexpected(variant.refusal);
    }
    entry.answer.device_id = variant.evaluator->platform().device.id;
    const auto compiled = TRY(compiled_at(variant, entry.answer.point));
    entry.compiled = compiled;
    const CompiledModel& model = entry.compiled->entry.model;
    StepBinder& step = entry.compiled->entry.step();
    const Binding binding = binding_at(model, sizes_at(entry.answer.point));
    const Platform& platform = variant.evaluator->platform();
    if (options_.time) {
      const auto bound = TRY(step(binding));
      entry.conditions = step_conditions(model, platform, variant.evaluator->behaviour().dispatch,
                                         variant.request);
      entry.compiled->bytes.fill_in(*bound, entry.conditions);
      entry.conditions.samples = samples_loaded(model, binding, platform);
      add_host_stages(model, binding, platform, entry.conditions);
    }
    const auto plan = TRY(variant.evaluator->device(model, step, binding, replay_at(entry)));
    if (plan.workspaces.free_bytes) entry.context.emplace(variant.evaluator->context(plan));
    SweepPoint& answer = entry.answer;
    answer.usable_bytes = platform.usable_bytes;
    answer.device_bytes = plan.memory.device_bytes;
    answer.device_range_bytes = plan.memory.device_range;
    answer.fits = answer.device_bytes <= answer.usable_bytes;
    answer.verdict = plan.memory.verdict;
    return {};
  }

  // What the bundle's last device had at this point of this model; null where too many are held.
  LastReplay* replay_at(const Entry& entry) {
    const auto key = std::pair(entry.compiled, entry.at);
    if (const auto known = replays_.find(key); known != replays_.end()) return &known->second;
    held_ += entry.compiled->entry.model.step.events.size();
    return prepared_.size() > 1 && held_ < kMostHeld ? &replays_[key] : nullptr;
  }

  Binding sizes_at(int64_t point) const {
    Binding sizes;
    const std::vector<size_t> place = place_of(point, sizes_);
    for (size_t axis = 0; axis < sizes_.size(); ++axis)
      sizes[sizes_[axis].symbol] = sizes_[axis].values[place[axis]];
    return sizes;
  }

  Result<SweepModel*> compiled_at(const SweepVariant& variant, int64_t point) {
    const Request& request = variant.request;
    const auto& [recipe, policy] = variant.evaluator->behaviour().autograd;
    const auto entry = TRY(family_->models.at(request, recipe, policy, sizes_at(point)));
    const auto [place, is_new] = family_->compiled.try_emplace(entry, *entry);
    SweepModel& compiled = place->second;
    if (!is_new) return &compiled;
    const Platform& platform = variant.evaluator->platform();
    block_.warnings.add_model(warnings_of(request, platform, entry->model));
    if (options_.time) number_kernels(compiled, variant.evaluator->behaviour().dispatch);
    return &compiled;
  }

  void number_kernels(SweepModel& compiled, const DispatchBehaviour& dispatch) {
    const Step& step = compiled.entry.model.step;
    const std::vector<size_t> numbers = family_->kernels.add(step);
    compiled.launches.resize(family_->kernels.size());
    for (const auto& [id, launches] : count_launches(step, dispatch.adds_bias))
      compiled.launches[numbers[id]].push_back(launches);
  }

  // Times of all entries that have a plan.
  void add_times(std::vector<Entry>& entries) {
    std::vector<Entry*> open;
    for (Entry& entry : entries) {
      if (!entry.compiled) continue;
      entry.sum.emplace(entry.conditions.habits, context().rates());
      entry.evidence = {};
      if (entry.context) {
        add_limited(entry);
      } else {
        open.push_back(&entry);
      }
    }
    std::ranges::stable_sort(open, {}, &Entry::at);
    if (!add_kernels(open)) {
      // A count beyond 64 bits at one point: the others are priced without it.
      for (size_t begin = 0; begin < open.size();) {
        const auto end = static_cast<size_t>(
            std::ranges::find_if(open.begin() + static_cast<ptrdiff_t>(begin), open.end(),
                                 [&](const Entry* e) { return e->at != open[begin]->at; }) -
            open.begin());
        const std::span<Entry*> point(&open[begin], end - begin);
        if (auto added = add_kernels(point); !added) fail(point, added.error());
        begin = end;
      }
    }
    for (Entry& entry : entries) {
      if (entry.sum) finish(entry);
    }
  }

  // Of kernels that run by algorithms of this point's own.
  void add_limited(Entry& entry) {
    const CompiledModel& model = entry.compiled->entry.model;
    const Binding binding = binding_at(model, sizes_at(entry.answer.point));
    const auto bound = entry.compiled->entry.step()(binding);
    if (!bound) {
      Entry* failed[] = {&entry};
      return fail(failed, bound.error());
    }
    const DispatchBehaviour& dispatch = entry.variant->evaluator->behaviour().dispatch;
    for (const auto& [id, launches] : count_launches(model.step, dispatch.adds_bias)) {
      const KernelAt& kernel = (*bound)->kernels[id];
      entry.sum->add(kernel, launches, kernel_time(kernel, *entry.context));
      entry.evidence.add(kernel.flop, launches.count, evidence_of(kernel, *entry.context));
    }
  }

  static void fail(std::span<Entry*> entries, const Diagnostics& why) {
    for (Entry* entry : entries) {
      entry->answer.failure = why;
      entry->compiled = nullptr;
    }
  }

  // Prices the family's kernels at the entries' points, which are in order, and adds each to the
  // steps that launch it.
  Result<void> add_kernels(std::span<Entry*> entries) {
    if (entries.empty()) return {};
    std::vector<Binding> points;
    std::vector<size_t> point_of;  // by entry
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i == 0 || entries[i]->at != entries[i - 1]->at)
        points.push_back(
            binding_at(entries[i]->compiled->entry.model, sizes_at(entries[i]->answer.point)));
      point_of.push_back(points.size() - 1);
    }
    std::vector<KernelTime> times(points.size());
    std::vector<Evidence> evidence(points.size());
    size_t number = 0;
    return family_->kernels.at(points, [&](std::span<const KernelAt> kernel) {
      const size_t here = number++;
      bool priced = false;
      for (size_t i = 0; i < entries.size(); ++i) {
        Entry& entry = *entries[i];
        const auto& launches = entry.compiled->launches;
        if (here >= launches.size() || launches[here].empty()) continue;
        if (!std::exchange(priced, true)) {
          for (size_t p = 0; p < points.size(); ++p) {
            times[p] = kernel_time(kernel[p], context());
            evidence[p] = evidence_of(kernel[p], context());
          }
        }
        const size_t p = point_of[i];
        for (const Launches& each : launches[here]) {
          entry.sum->add(kernel[p], each, times[p]);
          entry.evidence.add(kernel[p].flop, each.count, evidence[p]);
        }
      }
    });
  }

  void finish(Entry& entry) {
    if (!entry.compiled) return;
    const CompiledModel& model = entry.compiled->entry.model;
    const Evaluator& evaluator = *entry.variant->evaluator;
    entry.conditions.errors =
        step_errors(model, evaluator.platform(), evaluator.behaviour().dispatch, entry.evidence);
    const StepTime step = entry.sum->finish(entry.conditions);
    SweepPoint& answer = entry.answer;
    answer.step_ns = to_ns(step.seconds);
    answer.step_range_ns = {to_ns(step.low), to_ns(step.high)};
    answer.host_bound = step.host_bound;
    answer.waits.bubble_ns = {to_ns(step.bubble)};
    answer.sample_unit = model.meta.sample_unit;
    answer.samples_per_second =
        samples_per_second(model, binding_at(model, sizes_at(answer.point)),
                           model.recipe.parallel.mesh.replicas(), step.seconds);
    answer.run_ns = run_of(entry, step.seconds);
    if (answer.step_range_ns.high == std::numeric_limits<int64_t>::max())
      answer.failure = too_long(evaluator.platform().device).value();
  }

  std::optional<int64_t> run_of(const Entry& entry, double step_seconds) const {
    const CompiledModel& model = entry.compiled->entry.model;
    const ProgramRequest& program = entry.variant->request;
    const double whole_batch =
        samples_per_step(model, binding_at(model, sizes_at(entry.answer.point)),
                         model.recipe.parallel.mesh.replicas());
    const auto epoch = epoch_seconds(model, program, whole_batch, step_seconds);
    if (!epoch) return std::nullopt;
    const double epochs = static_cast<double>(std::max<int64_t>(1, program.epochs));
    return to_ns(*epoch * epochs);
  }

  // Recipes of one precision are priced alike on one device.
  const TimeContext& context() const {
    return std::ranges::find_if(variants_, [](const SweepVariant& v) { return !!v.evaluator; })
        ->evaluator->context();
  }

  std::span<const SizeAxis> sizes_;
  const Hwdb& hwdb_;
  SweepOptions options_;
  std::optional<SweepFamily> family_;
  std::vector<std::vector<SweepVariant>> prepared_;  // of a bundle's groups
  std::span<const SweepVariant> variants_;           // of the one at work
  std::map<std::pair<const SweepModel*, size_t>, LastReplay> replays_;
  size_t held_ = 0;
  BlockAnswer block_;
};

}  // namespace

Result<Diagnostics> sweep(std::span<const Request> variants, std::span<const SizeAxis> sizes,
                          const Hwdb& hwdb, const SweepOptions& options,
                          const std::function<bool(const SweepPoint&)>& use) {
  const std::vector<SweepGroup> groups = groups_of(variants);
  const std::vector<SweepBundle> bundles = bundles_of(groups);
  const int64_t points = points_of(sizes);
  const auto blocks = static_cast<size_t>((points + kBlock - 1) / kBlock);  // of each bundle
  const size_t units = bundles.size() * blocks;
  const size_t before = units * options.part / options.parts;
  const size_t end = units * (options.part + 1) / options.parts;
  SweepWarnings warnings;
  std::optional<Diagnostics> fault;
  const auto make_worker = [&]() -> Worker<BlockAnswer> {
    return [&, sweeper = std::make_shared<Sweeper>(sizes, hwdb, options)](size_t at) {
      const size_t unit = before + at;
      const auto first = static_cast<int64_t>(unit % blocks) * kBlock;
      return sweeper->block(bundles[unit / blocks], first, std::min(points, first + kBlock));
    };
  };
  work_in_order<BlockAnswer>(end - before, options.threads, make_worker,
                             [&](const BlockAnswer& block) {
                               warnings.add(block.warnings);
                               fault = block.fault;
                               return !fault && std::ranges::all_of(block.points, use);
                             });
  if (fault) return tl::make_unexpected(std::move(*fault));
  return warnings.all();
}

}  // namespace plimsoll
